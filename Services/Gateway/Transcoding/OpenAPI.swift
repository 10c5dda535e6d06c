/// The OpenAPI 3.1 page of all routes (PF-6): paths, schemas, comments, validation rules and who may call.
public enum OpenAPI {
    /// The document as JSON.
    ///
    /// - Parameters:
    ///   - routes: every route to describe, e.g. `RouteTable.routes`.
    ///   - title: the API's name.
    ///   - version: the API's version.
    ///   - server: base URL clients use; empty for the one the page comes from.
    public static func document(_ routes: [Route], title: String, version: String, server: String = "") -> [UInt8] {
        var out = JSONText()
        var schemas = OpenAPISchemas()
        out.object { out in
            out.member("openapi", string: "3.1.0")
            out.member("info") { out in
                out.object { out in
                    out.member("title", string: title)
                    out.member("version", string: version)
                }
            }
            out.member("servers") { out in
                out.array([server.isEmpty ? "/" : server]) { out, url in out.object { $0.member("url", string: url) } }
            }
            out.member("paths") { paths(routes, &$0, &schemas) }
            out.member("components") { out in
                out.object { out in
                    out.member("securitySchemes") { out in
                        out.object { out in
                            out.member("bearer", raw: #"{"type":"http","scheme":"bearer","bearerFormat":"JWT"}"#)
                            out.member("secret", raw: #"{"type":"apiKey","in":"header","name":"Authorization"}"#)
                        }
                    }
                    out.member("schemas") { schemas.write(to: &$0) }
                }
            }
        }
        return out.bytes
    }

    private static func paths(_ routes: [Route], _ out: inout JSONText, _ schemas: inout OpenAPISchemas) {
        var order: [String] = []
        var byPath: [String: [Route]] = [:]
        for route in routes {
            let path = self.path(route)
            if byPath[path] == nil { order.append(path) }
            byPath[path, default: []].append(route)
        }
        var used: Set<String> = []
        out.object { out in
            for path in order {
                out.member(path) { out in
                    out.object { out in
                        for route in byPath[path] ?? [] {
                            // Additional bindings of one method need ids of their own.
                            let base = "\(route.protoService.split(separator: ".").last ?? "").\(route.method)"
                            var id = base
                            var number = 2
                            while !used.insert(id).inserted {
                                id = "\(base).\(number)"
                                number += 1
                            }
                            out.member(route.verb.lowercased()) { operation(route, id: id, &$0, &schemas) }
                        }
                    }
                }
            }
        }
    }

    /// `/api/files/{dish_id=plates/**}` is `/api/files/{dish_id}` in OpenAPI, which has no multi-segment variables; literals stay.
    private static func path(_ route: Route) -> String {
        var text = ""
        var index = 0
        while index < route.pattern.segments.count {
            if let variable = bound(route, at: index) {
                text += "/{\(variable.fieldPath)}"
                index = variable.segments.upperBound
                continue
            }
            switch route.pattern.segments[index] {
            case .literal(let bytes): text += "/" + String(decoding: bytes, as: UTF8.self)
            case .any, .rest: text += "/{segment_\(index)}"
            }
            index += 1
        }
        return text.isEmpty ? "/" : text
    }

    /// The variable that begins at a segment, unless it only binds a literal.
    private static func bound(_ route: Route, at index: Int) -> PathTemplate.Variable? {
        route.pattern.variables.first { variable in
            guard variable.segments.lowerBound == index else { return false }
            if variable.segments.count == 1, case .literal = route.pattern.segments[index] { return false }
            return true
        }
    }

    private static func operation(_ route: Route, id: String, _ out: inout JSONText, _ schemas: inout OpenAPISchemas) {
        let comment = route.descriptor.comment
        out.object { out in
            out.member("operationId", string: id)
            out.member("tags") { $0.array([route.service]) { $0.string($1) } }
            if !comment.isEmpty {
                let firstSentence = comment.split(separator: ".", maxSplits: 1).first.map(String.init) ?? comment
                out.member("summary", string: firstSentence.replacingNewlines())
                out.member("description", string: comment)
            }
            if route.descriptor.isDeprecated { out.member("deprecated", raw: "true") }
            switch route.policy.auth {
            case .none: out.member("security", raw: "[]")
            case .secret: out.member("security", raw: #"[{"secret":[]}]"#)
            default: out.member("security", raw: #"[{"bearer":[]}]"#)
            }
            out.member("x-auth", string: "\(route.policy.auth)")
            parameters(route, &out, &schemas)
            requestBody(route, &out, &schemas)
            out.member("responses") { responses(route, &$0, &schemas) }
        }
    }

    private static func parameters(_ route: Route, _ out: inout JSONText, _ schemas: inout OpenAPISchemas) {
        var list: [(name: String, location: String, field: FieldDescriptor)] = []
        for variable in route.pattern.variables {
            let isShown = bound(route, at: variable.segments.lowerBound)?.fieldPath == variable.fieldPath
            if isShown, let field = schemas.field(variable.fieldPath, of: route.requestType, in: route.set) {
                list.append((variable.fieldPath, "path", field))
            }
        }
        for (index, segment) in route.pattern.segments.enumerated() where segment == .any || segment == .rest {
            if !route.pattern.variables.contains(where: { $0.segments.contains(index) }) {
                list.append(("segment_\(index)", "path", FieldDescriptor()))
            }
        }
        if route.request.body != .message {
            let taken = Set(route.pattern.variables.map(\.fieldPath) + [route.binding.body])
            list += schemas.queryFields(of: route.requestType, in: route.set).filter { !taken.contains($0.name) }
                .map { ($0.name, "query", $0.field) }
        }
        guard !list.isEmpty else { return }
        out.member("parameters") { out in
            out.array(list) { out, parameter in
                out.object { out in
                    out.member("name", string: parameter.name)
                    out.member("in", string: parameter.location)
                    if parameter.location == "path" || parameter.field.rules.required { out.member("required", raw: "true") }
                    if !parameter.field.comment.isEmpty { out.member("description", string: parameter.field.comment) }
                    out.member("schema") { schemas.schema(parameter.field, in: route.set, isReply: false, &$0) }
                }
            }
        }
    }

    private static func requestBody(_ route: Route, _ out: inout JSONText, _ schemas: inout OpenAPISchemas) {
        let field = route.set.message(named: route.requestType)?.fields.first { $0.name == route.binding.body }
        guard route.request.body != .none else { return }
        out.member("requestBody") { out in
            out.object { out in
                out.member("required", raw: "true")
                out.member("content") { out in
                    out.object { out in
                        if let upload = route.policy.upload {
                            out.member("multipart/form-data") { out in
                                out.object { $0.member("schema") { schemas.form(route, upload, &$0) } }
                            }
                        } else {
                            out.member("application/json") { out in
                                out.object { out in
                                    out.member("schema") { out in
                                        if let field {
                                            schemas.schema(field, in: route.set, isReply: false, &out)
                                        } else {
                                            schemas.requestObject(route, &out)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private static func responses(_ route: Route, _ out: inout JSONText, _ schemas: inout OpenAPISchemas) {
        out.object { out in
            out.member(String(route.policy.successStatus)) { out in
                out.object { out in
                    out.member("description", string: "Success.")
                    out.member("content") { out in
                        out.object { out in
                            if route.policy.stream != nil {
                                out.member("text/event-stream", raw: #"{"schema":{"type":"string"}}"#)
                            } else if let body = route.policy.body {
                                let type = body.contentType.isEmpty ? "application/octet-stream" : body.contentType
                                out.member(type, raw: "{}")
                            } else {
                                out.member("application/json") { out in
                                    out.object { $0.member("schema") { schemas.reply(route, &$0) } }
                                }
                            }
                        }
                    }
                }
            }
            if route.policy.body?.redirectField.isEmpty == false {
                out.member("302", raw: #"{"description":"The bytes lie at the URL in Location."}"#)
            }
            out.member("default") { out in
                out.object { out in
                    out.member("description", string: "Failure; `error.code` says which.")
                    out.member(
                        "content",
                        raw: ##"{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}"##
                    )
                }
            }
        }
    }
}

extension String {
    /// The text on one line.
    func replacingNewlines() -> String { split(separator: "\n").joined(separator: " ") }
}
