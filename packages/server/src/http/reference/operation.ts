import { COMMON_REASONS, IDEMPOTENCY_REASONS, isReason, reasons } from '@waxwing/contract/reasons.ts'
import { html } from 'hono/html'
import {
  type MediaType,
  type OpenapiDocument,
  type Operation,
  type Parameter,
  type Schema,
  nameOf,
} from './document.ts'
import { bodyExampleOf, exampleOf } from './example.ts'
import { type Markup, code, joined, prose } from './markup.ts'
import { describe, limitsOf, typeOf } from './schema.ts'

const UNIVERSAL: ReadonlySet<string> = new Set([...COMMON_REASONS, ...IDEMPOTENCY_REASONS])

export interface Route {
  method: string
  path: string
  operation: Operation
}

/** One operation: what it does, takes, answers and refuses, with a form that sends it. */
export function operationSection(document: OpenapiDocument, route: Route): Markup {
  const { method, path, operation } = route
  const scope = operation['x-scope']
  // The id lies inside, so that a link to it opens the details without a script (HTML, "ancestor revealing algorithm").
  return html`<details class="operation" data-operation="${operation.operationId}">
    <summary>
      <span class="method ${method.toLowerCase()}">${method}</span>
      <code class="path">${breakable(path)}</code>
      <span class="summary">${prose(operation.summary)}</span>
    </summary>
    <div class="columns" id="${operation.operationId}">
      <div class="description">
        <p>${prose(operation.description)}</p>
        <p class="facts">
          ${scope === 'none' ? 'Needs no credential.' : html`Needs the scope ${code(scope)}.`}
          <a class="permalink" href="#${operation.operationId}">Link to this operation</a>
        </p>
      </div>
      ${formOf(document, route)}
      <div class="answers">${answerOf(document, operation)} ${refusalsOf(operation)}</div>
    </div>
  </details>`
}

/** Paths may break before a slash. */
export function breakable(path: string): Markup {
  return html`${path.split('/').map((part, index) => (index === 0 ? part : html`<wbr />/${part}`))}`
}

function formOf(document: OpenapiDocument, { method, path, operation }: Route): Markup {
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
    data-kind="${isDownload(operation) ? 'download' : 'json'}"
    aria-label="${method} ${path}"
    autocomplete="off"
  >
    <h4>Request</h4>
    ${groupIn('path', 'In the path')} ${groupIn('query', 'In the query')}
    ${body ? bodyOf(document, operation, body) : ''} ${groupIn('header', 'As headers')}
    ${parameters.length === 0 && !body ? html`<p>It takes nothing.</p>` : ''}
    <div class="try" hidden>
      <p><button type="submit">Send</button> <button type="button" class="copy">Copy as curl</button></p>
      <pre class="curl" tabindex="0" aria-label="The request as a curl command"></pre>
      <div class="answer" aria-live="polite"></div>
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

function resolveParameter(document: OpenapiDocument, parameter: Parameter | { $ref: string }): Parameter {
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
    ${name === 'Idempotency-Key' ? html`<button type="button" class="fresh" hidden>New key</button>` : ''}
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
    return html`<select id="${id}" data-in="${place}" data-name="${name}" ${isRequired} hidden>
      <option value=""></option>
      ${choices.map(choice => html`<option>${choice}</option>`)}
    </select>`
  }
  const kind = schema.type === 'array' ? 'list' : 'text'
  const placeholder = schema.default ?? (kind === 'list' ? 'separated by commas' : '')
  return html`<input
    id="${id}"
    data-in="${place}"
    data-name="${name}"
    data-kind="${kind}"
    placeholder="${placeholder}"
    spellcheck="false"
    ${isRequired}
    hidden
  />`
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

function answerOf(document: OpenapiDocument, operation: Operation): Markup {
  const [status, response] = Object.entries(operation.responses).find(([key]) => key.startsWith('2')) ?? []
  if (status === undefined || !response || '$ref' in response) return ''
  const [[mediaType, media] = ['', {}]] = Object.entries<MediaType>(response.content ?? {})
  const { schema } = media
  if (!schema)
    return html`<h4>Answer ${status}</h4>
      <p>A download of the type ${code(mediaType)}.</p>`
  if (schema.type === 'null')
    return html`<h4>Answer ${status}</h4>
      <p>${code(null)}</p>`
  const example = media.example ?? exampleOf(document, schema)
  return html`<h4>Answer ${status}</h4>
    ${describe(document, schema, 'answer')}
    <details class="example">
      <summary>Example</summary>
      <pre tabindex="0">${JSON.stringify(example, null, 2)}</pre>
    </details>`
}

/** Whether it answers with bytes, which have a media type and no schema. */
function isDownload({ responses }: Operation): boolean {
  const response = responses['200']
  if (!response || '$ref' in response) return false
  return Object.values(response.content ?? {}).some(({ schema }) => schema === undefined)
}

function refusalsOf(operation: Operation): Markup {
  const own = operation['x-error-reasons'].filter(reason => !UNIVERSAL.has(reason))
  const everywhere = html`<p><a href="#errors">Reasons that every operation can give</a></p>`
  return html`<h4>Refusals</h4>
    ${own.length === 0 ? '' : reasonTable(own)} ${everywhere}`
}

/** Reasons with their statuses and what they say, by status. */
export function reasonTable(names: readonly string[]): Markup {
  const known = names.filter(isReason).toSorted((one, other) => reasons[one].status - reasons[other].status)
  return html`<dl class="reasons">
    ${known.map(
      name =>
        html`<div>
          <dt><span class="status">${reasons[name].status}</span> ${code(name)}</dt>
          <dd>${reasons[name].message}</dd>
        </div>`,
    )}
  </dl>`
}

/** The methods and paths in words, for the navigation. */
export function routeLink({ method, path, operation }: Route): Markup {
  const title = joined([method, path], ' ')
  return html`<a href="#${operation.operationId}" title="${title}" data-link="${operation.operationId}"
    ><span class="method ${method.toLowerCase()}">${method}</span>
    ${prose(operation.summary.replace(/\.$/, ''))}</a
  >`
}
