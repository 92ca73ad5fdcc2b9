import { EVENT_STREAM } from '@waxwing/contract/shapes.ts'
import { html } from 'hono/html'
import { type OpenapiDocument, type Operation, type Parameter, type Schema, nameOf } from './document.ts'
import { bodyExampleOf } from './example.ts'
import { type Markup, prose } from './markup.ts'
import type { Route } from './route.ts'
import { describe, limitsOf, typeOf } from './schema.ts'

/** The languages in which a request is shown; `browser/snippets.js` writes them. */
export const LANGUAGES = [
  { name: 'curl', label: 'curl', language: 'bash' },
  { name: 'node', label: 'TypeScript', language: 'typescript' },
  { name: 'python', label: 'Python', language: 'python' },
]

/** The form that sends an operation: its parameters, its body and the area for its response. */
export function requestForm(document: OpenapiDocument, { method, path, operation }: Route): Markup {
  const parameters = (operation.parameters ?? []).map(parameter => resolveParameter(document, parameter))
  const body = operation.requestBody?.content['application/json']?.schema
  const groupIn = (place: Parameter['in'], title: string) =>
    groupOf(
      operation.operationId,
      title,
      parameters.filter(parameter => parameter.in === place),
    )
  return html`<form
    class="request"
    data-method="${method}"
    data-path="${path}"
    data-operation="${operation.operationId}"
    data-kind="${kindOf(operation)}"
    data-scope="${operation['x-scope']}"
    aria-label="${method} ${path}"
    autocomplete="off"
  >
    <h3>Request</h3>
    ${groupIn('path', 'Path')} ${groupIn('query', 'Query')} ${body ? bodyOf(document, operation, body) : ''}
    ${groupIn('header', 'Headers')} ${parameters.length === 0 && !body ? html`<p>No parameters.</p>` : ''}
    <div class="send-bar needs-script">
      <button type="submit">Send</button>
      <span class="status-line" role="status"></span>
    </div>
    <div class="needs-script">
      <div class="response"></div>
      <div class="snippet-bar">
        <span role="group" aria-label="Language of the example">
          ${LANGUAGES.map(
            ({ name, label }) =>
              html`<button type="button" class="language" data-snippet="${name}">${label}</button>`,
          )}
        </span>
        <button type="button" class="copy">Copy</button>
      </div>
      <pre class="snippet" tabindex="0" role="region" aria-label="The request as code"></pre>
    </div>
  </form>`
}

function groupOf(operationId: string, title: string, parameters: Parameter[]): Markup {
  if (parameters.length === 0) return ''
  return html`<fieldset>
    <legend>${title}</legend>
    ${parameters.map(parameter => parameterOf(operationId, parameter))}
  </fieldset>`
}

export function resolveParameter(
  document: OpenapiDocument,
  parameter: Parameter | { $ref: string },
): Parameter {
  if (!('$ref' in parameter)) return parameter
  const target = document.components.parameters[nameOf(parameter.$ref)]
  if (!target) throw new Error(`The document lacks ${parameter.$ref}`)
  return target
}

function parameterOf(
  operationId: string,
  { name, in: place, required, description, schema }: Parameter,
): Markup {
  const id = `${operationId}-${name}`
  const limits = limitsOf(schema)
  return html`<div class="parameter">
    <label for="${id}"><code class="name">${name}</code></label>
    <span class="type">${typeOf(schema)}</span>
    ${required ? html`<span class="required">required</span>` : ''} <span class="limits">${limits}</span>
    ${inputOf(id, { name, place, required, schema })}
    ${name === 'Idempotency-Key' ? html`<button type="button" class="fresh needs-script">New key</button>` : ''}
    ${description === undefined ? '' : html`<p>${prose(description)}</p>`}
  </div>`
}

interface Input {
  name: string
  place: string
  required: boolean
  schema: Schema
}

function inputOf(id: string, { name, place, required, schema }: Input): Markup {
  const choices = schema.type === 'boolean' ? [true, false] : schema.enum
  const isRequired = required ? html`required` : ''
  if (choices) {
    return html`<select
      id="${id}"
      class="needs-script"
      data-in="${place}"
      data-name="${name}"
      data-type="${valueTypeOf(schema)}"
      ${isRequired}
    >
      <option value=""></option>
      ${choices.map(choice => html`<option>${String(choice)}</option>`)}
    </select>`
  }
  const kind = schema.type === 'array' ? 'list' : 'text'
  const placeholder = schema.default ?? (kind === 'list' ? 'separated by commas' : '')
  return html`<input
    id="${id}"
    class="needs-script"
    data-in="${place}"
    data-name="${name}"
    data-kind="${kind}"
    data-type="${valueTypeOf(schema)}"
    placeholder="${placeholder}"
    spellcheck="false"
    ${isRequired}
  />`
}

/** The type that the client gives to a value of the form. */
function valueTypeOf({ type, anyOf = [] }: Schema): 'number' | 'boolean' | 'text' {
  const types = new Set([type, ...anyOf.map(each => each.type)].flat())
  if (types.has('boolean')) return 'boolean'
  return types.has('integer') || types.has('number') ? 'number' : 'text'
}

function bodyOf(document: OpenapiDocument, operation: Operation, schema: Schema): Markup {
  const id = `${operation.operationId}-body`
  const example = operation.requestBody?.content['application/json']?.example
  const text = JSON.stringify(example ?? bodyExampleOf(document, schema), null, 2)
  const rows = Math.min(Math.max(text.split('\n').length + 1, 3), 20)
  return html`<fieldset>
    <legend><label for="${id}">Body</label></legend>
    <textarea id="${id}" data-in="body" rows="${rows}" spellcheck="false">${text}</textarea>
    <details class="body">
      <summary>Fields of the body</summary>
      ${describe(document, schema, 'input')}
    </details>
  </fieldset>`
}

/** A download consists of bytes, which have a media type and no schema. */
export function kindOf({ responses }: Operation): 'json' | 'download' | 'stream' {
  const response = responses['200']
  if (!response || '$ref' in response) return 'json'
  const content = response.content ?? {}
  if (EVENT_STREAM in content) return 'stream'
  return Object.values(content).some(({ schema }) => schema === undefined) ? 'download' : 'json'
}
