// Code for a call: curl for a shell, Swift for an app.

/// A call as the page holds it: operation, address (path and query), body, whether signed in.
/// `example(operation)` fills one from the description.
export function example(operation) {
    const value = (parameter) => encodeURIComponent(String([parameter.example ?? ""].flat()[0]));
    let path = operation.path;
    const query = [];
    for (const parameter of operation.parameters) {
        if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, value(parameter));
        if (parameter.in === "query" && parameter.required) query.push(`${parameter.name}=${value(parameter)}`);
    }
    return { operation, address: path + (query.length > 0 ? `?${query.join("&")}` : ""), body: operation.example, isSigned: needsToken(operation) };
}

export const needsToken = (operation) => ["user", "guest", "admin"].includes(operation.auth);

const changes = (operation) => operation.method !== "GET";

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/// A command for a shell in which TOKEN is set.
export function curl({ operation, address, body, isSigned }, origin) {
    const parts = [`curl ${operation.isStream ? "-N " : ""}${operation.method === "GET" ? "" : `-X ${operation.method} `}${quoted(origin + address)}`];
    if (isSigned) parts.push('-H "Authorization: Bearer $TOKEN"');
    if (changes(operation)) parts.push("-H \"Idempotency-Key: $(uuidgen)\"");
    if (operation.isUpload) {
        for (const [name, value] of Object.entries(body ?? {})) {
            const isFile = typeof value === "string" && value.startsWith("(the bytes");
            for (const one of [value].flat()) parts.push(`-F ${quoted(isFile ? `${name}=@photo.jpg` : `${name}=${one}`)}`);
        }
    } else if (operation.bodyType === "application/json" && body !== undefined) {
        parts.push("-H 'Content-Type: application/json'", `--data ${quoted(JSON.stringify(body, null, 2))}`);
    } else if (operation.bodyType) {
        parts.push("--data-binary @body");
    }
    return parts.join(" \\\n    ");
}

const literal = (text) => `"${String(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
const indented = (text) => text.split("\n").map((line) => `    ${line}`).join("\n");

/// A Swift function that makes the call, for Apple's systems and Linux.
export function swift({ operation, address, body, isSigned }, origin) {
    const { id, method } = operation;
    const lines = [];
    if (method !== "GET") lines.push(`request.httpMethod = ${literal(method)}`);
    if (isSigned) lines.push('request.setValue("Bearer \\(token)", forHTTPHeaderField: "Authorization")');
    if (changes(operation)) lines.push('request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")');
    const inputs = isSigned ? ["token: String"] : [];
    if (operation.isUpload) {
        const file = Object.entries(body ?? {}).find(([, value]) => typeof value === "string" && value.startsWith("(the bytes"))?.[0] ?? "photo";
        const others = Object.entries(body ?? {}).filter(([name]) => name !== file);
        inputs.push("photo: Data");
        lines.push(
            "let boundary = UUID().uuidString",
            'request.setValue("multipart/form-data; boundary=\\(boundary)", forHTTPHeaderField: "Content-Type")',
            "var body = Data()",
            ...others.flatMap(([name, value]) => [value].flat().map((one) => `body.append(Data("--\\(boundary)\\r\\nContent-Disposition: form-data; name=\\"${name}\\"\\r\\n\\r\\n${String(one).replaceAll('"', '\\"')}\\r\\n".utf8))`)),
            `body.append(Data("--\\(boundary)\\r\\nContent-Disposition: form-data; name=\\"${file}\\"; filename=\\"photo.jpg\\"\\r\\n\\r\\n".utf8))`,
            "body.append(photo)",
            'body.append(Data("\\r\\n--\\(boundary)--\\r\\n".utf8))',
            "request.httpBody = body",
        );
    } else if (operation.bodyType === "application/json" && body !== undefined) {
        lines.push('request.setValue("application/json", forHTTPHeaderField: "Content-Type")', 'request.httpBody = Data(#"""', indented(JSON.stringify(body, null, 2)), '    """#.utf8)');
    } else if (operation.bodyType) {
        inputs.push("body: Data");
        lines.push("request.httpBody = body");
    }
    if (operation.isStream) lines.push("// This reply does not end: read it with a delegate of URLSession, line by line.");
    lines.push("let (data, response) = try await URLSession.shared.data(for: request)", "return (data, (response as? HTTPURLResponse)?.statusCode ?? 0)");
    // A constant where nothing is set, else the compiler warns.
    lines.unshift(`${lines.some((line) => line.startsWith("request.")) ? "var" : "let"} request = URLRequest(url: URL(string: ${literal(origin + address)})!)`);
    return `import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func ${id}(${inputs.join(", ")}) async throws -> (Data, Int) {
${indented(lines.join("\n"))}
}`;
}
