// The API's description as the page needs it: operations, the fields of their messages with their rules, and what a search finds.

/// Reads `/openapi.json`, the meanings of errors, and the changes.
export async function load() {
    const [api, errors, changes] = await Promise.all(["/openapi.json", "/pages/errors.json", "/pages/changes.json"].map((path) => fetch(path).then((reply) => reply.json())));
    return new Reference(api, errors, changes);
}

/// Words that say nothing about what is searched.
const small = new Set(["a", "an", "the", "of", "to", "in", "for", "and", "with", "how", "is"]);

const who = { none: "Everyone", guest: "Guests and users", user: "Users", admin: "Administrators", secret: "Who has the secret" };

export class Reference {
    constructor(api, errors, changes) {
        this.api = api;
        this.errors = errors;
        this.changes = changes;
        this.operations = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, raw]) => this.operation(method, path, raw)));
        this.byID = new Map(this.operations.map((operation) => [operation.id, operation]));
        this.byRoute = new Map(this.operations.map((operation) => [`${operation.method} ${operation.path}`, operation]));
        this.groups = api.tags
            .map((tag) => ({ name: tag.name, text: tag.description, operations: this.operations.filter((operation) => operation.tag === tag.name) }))
            .filter((group) => group.operations.length > 0);
        /// Whether time can be moved here: a development installation.
        this.isDevelopment = "/api/dev/clock" in api.paths;
    }

    operation(method, path, raw) {
        const content = raw.requestBody?.content ?? {};
        const [bodyType, body] = Object.entries(content)[0] ?? [null, null];
        const [status, success] = Object.entries(raw.responses).find(([code]) => code.startsWith("2")) ?? [null, null];
        const replies = success?.content ?? {};
        const failure = raw.responses.default?.content?.["application/json"]?.schema;
        return {
            id: raw.operationId,
            method: method.toUpperCase(),
            path,
            tag: raw.tags[0],
            summary: raw.summary ?? raw.operationId,
            description: raw.description ?? "",
            isDeprecated: Boolean(raw.deprecated),
            auth: raw["x-auth"],
            who: who[raw["x-auth"]] ?? raw["x-auth"],
            parameters: (raw.parameters ?? []).map((parameter) => this.resolve(parameter)),
            bodyType,
            isBodyRequired: Boolean(raw.requestBody?.required),
            body: body?.schema ?? null,
            example: body?.example,
            isUpload: bodyType === "multipart/form-data",
            status,
            replyTypes: Object.keys(replies),
            reply: replies["application/json"]?.schema ?? null,
            replyExample: replies["application/json"]?.example,
            isStream: "text/event-stream" in replies,
            events: this.events(replies["text/event-stream"]?.["x-event-schema"]),
            hasObjectDetails: failure ? this.resolve(this.resolve(failure).properties.error).properties.details.type === "object" : false,
            codes: raw["x-error-codes"] ?? [],
        };
    }

    /// The kinds of events of a stream: name, words, and the schema of the data.
    events(schema) {
        return (schema ? this.resolve(schema).oneOf : []).map((kind) => {
            const { description, properties } = this.resolve(kind);
            return { name: properties.event.enum[0], text: description ?? "", data: properties.data };
        });
    }

    /// What a reference stands for, with what stands beside it.
    resolve(schema) {
        if (!schema?.$ref) return schema;
        const found = schema.$ref.slice(2).split("/").reduce((value, key) => value[key], this.api);
        const { $ref, ...more } = schema;
        return { ...found, ...more };
    }

    /// A schema with its parts put together.
    whole(schema) {
        const found = this.resolve(schema);
        if (!found?.allOf) return found;
        return found.allOf.map((part) => this.whole(part)).reduce((sum, part) => ({ ...sum, ...part, properties: { ...sum.properties, ...part.properties } }), {});
    }

    /// The fields of a schema, those of objects inside them below them: name, depth, type, rules, words.
    fields(schema, depth = 0, inside = []) {
        const object = this.whole(schema);
        const required = new Set(object?.required ?? []);
        return Object.entries(object?.properties ?? {}).flatMap(([name, raw]) => {
            const field = this.whole(raw);
            const items = field.items ? this.whole(field.items) : null;
            const inner = items?.properties ? field.items : field.properties ? raw : null;
            const reference = raw.$ref ?? field.items?.$ref ?? null;
            const isRepeated = reference && inside.includes(reference);
            const row = { name, depth, type: this.type(field, items), isRequired: required.has(name), rules: this.rules(field, items), text: raw.description ?? field.description ?? "", isDeprecated: Boolean(field.deprecated) };
            return inner && !isRepeated && depth < 6 ? [row, ...this.fields(inner, depth + 1, [...inside, reference])] : [row];
        });
    }

    type(field, items) {
        const types = [field.type].flat().filter((type) => type && type !== "null");
        const isNullable = [field.type].flat().includes("null");
        const name = items ? `list of ${this.plain(items)}` : this.plain({ ...field, type: types[0] });
        return isNullable ? `${name} or null` : name;
    }

    plain(field) {
        const type = [field.type].flat().find((name) => name !== "null") ?? "object";
        if (field.format === "binary") return "file";
        const formats = { "date-time": "time", date: "date", uuid: "UUID", email: "e-mail address", uri: "URI" };
        return formats[field.format] ?? { boolean: "true or false", integer: "integer", number: "number", string: "text", object: "object", array: "list" }[type] ?? type;
    }

    rules(field, items) {
        const rules = [];
        const values = field.enum ?? items?.enum;
        if (values) rules.push(`one of ${values.filter((value) => value !== null).map((value) => `\`${value}\``).join(", ")}`);
        const between = (least, most, one, many) => {
            const count = (number) => `${number.toLocaleString("en")}${number === 1 ? one : many}`;
            if (least !== undefined && most !== undefined) rules.push(least === most ? `exactly ${count(most)}` : `${least.toLocaleString("en")} to ${count(most)}`);
            else if (most !== undefined) rules.push(`at most ${count(most)}`);
            else if (least !== undefined) rules.push(`at least ${count(least)}`);
        };
        between(field.minimum, field.maximum, "", "");
        // As a person counts them, where that is the rule: the schema itself counts code points.
        const most = (one) => one["x-max-characters"] ?? one.maxLength;
        between(field.minLength, most(field), " character", " characters");
        between(field.minItems, field.maxItems, " entry", " entries");
        if (items) between(items.minLength, most(items), " character each", " characters each");
        const pattern = field.pattern ?? items?.pattern;
        // The long ones are for generators of clients: the text of the field says the same.
        if (pattern && pattern.length <= 60) rules.push(`matches \`${pattern}\``);
        if (field.const !== undefined) rules.push(`always \`${field.const}\``);
        if (field.writeOnly) rules.push("never in a reply");
        return rules;
    }

    meaning(code) {
        return this.errors[code] ?? { status: null, meaning: "" };
    }

    /// Operations that have every word of the text, the best first: in path or summary before fields and errors.
    search(text) {
        const typed = text.toLowerCase().split(/\s+/).filter(Boolean);
        const others = typed.filter((word) => !small.has(word));
        const words = others.length > 0 ? others : typed;
        if (words.length === 0) return [];
        return this.operations
            .map((operation) => ({ operation, score: this.score(operation, words) }))
            .filter((hit) => hit.score > 0)
            .sort((one, other) => other.score - one.score)
            .map((hit) => hit.operation);
    }

    score(operation, words) {
        operation.texts ??= [
            [8, `${operation.method} ${operation.path} ${operation.id}`.toLowerCase()],
            [6, operation.summary.toLowerCase()],
            [3, operation.description.toLowerCase()],
            [2, this.names(operation).join(" ").toLowerCase()],
            [1, operation.codes.join(" ").toLowerCase()],
        ];
        let sum = 0;
        for (const word of words) {
            const best = operation.texts.find(([, content]) => content.includes(word));
            if (!best) return 0;
            sum += best[0];
        }
        return operation.isDeprecated ? sum * 0.5 : sum;
    }

    /// The names of what a request or reply can hold.
    names(operation) {
        const schemas = [operation.body, operation.reply].filter(Boolean);
        return [...operation.parameters.map((parameter) => parameter.name), ...schemas.flatMap((schema) => this.fields(schema).map((field) => field.name))];
    }
}
