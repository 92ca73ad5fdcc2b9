import type { Route } from './route.ts'
import { EVENT_STREAM } from '@waxwing/contract/shapes.ts'
import { COMMON_REASONS, IDEMPOTENCY_REASONS, isReason, reasons } from '@waxwing/contract/reasons.ts'
import { html } from 'hono/html'
import type { MediaType, OpenapiDocument, Operation } from './document.ts'
import { exampleOf } from './example.ts'
import { type Markup, code, jsonBlock, prose } from './markup.ts'
import { requestExample } from './request-example.ts'
import { requestForm } from './request-form.ts'
import { describe } from './schema.ts'

const UNIVERSAL: ReadonlySet<string> = new Set([...COMMON_REASONS, ...IDEMPOTENCY_REASONS])

interface OperationOptions {
  /** Whether the page is for a host without the service, where a form could send nothing. */
  isStatic: boolean
}

/** One operation: its description, input, output and errors, and a form that sends it if the service serves the page. */
export function operationSection(
  document: OpenapiDocument,
  route: Route,
  { isStatic }: OperationOptions,
): Markup {
  const { method, path, operation } = route
  const scope = operation['x-scope']
  // The id is inside, so that a link to it opens the details without a script (HTML, "ancestor revealing algorithm").
  return html`<details class="operation unit" data-operation="${operation.operationId}">
    <summary>
      <span class="method ${method.toLowerCase()}">${method}</span>
      <code class="path">${breakable(path)}</code>
      <h2 class="summary">${prose(operation.summary)}</h2>
    </summary>
    <div class="columns" id="${operation.operationId}">
      <div class="description">
        <p>${prose(operation.description)}</p>
        <p class="facts">
          ${scope === 'none' ? 'Needs no credential.' : html`Needs the <a href="/docs/guides/authentication#scopes">scope</a> ${code(scope)}.`}
          <a class="permalink" href="#${operation.operationId}">Link to this operation</a>
        </p>
      </div>
      ${isStatic ? requestExample(document, route) : requestForm(document, route)}
      <div class="outcomes">${responseOf(document, operation)} ${errorsOf(operation)}</div>
    </div>
  </details>`
}

/** Allows line breaks before each slash of a path. */
function breakable(path: string): Markup {
  return html`${path.split('/').map((part, index) => (index === 0 ? part : html`<wbr />/${part}`))}`
}

function responseOf(document: OpenapiDocument, operation: Operation): Markup {
  const [status, response] = Object.entries(operation.responses).find(([key]) => key.startsWith('2')) ?? []
  if (status === undefined || !response || '$ref' in response) return ''
  const [[mediaType, media] = ['', {}]] = Object.entries<MediaType>(response.content ?? {})
  const { schema } = media
  if (!schema)
    return html`<h3>Response ${status}</h3>
      <p>${mediaType === EVENT_STREAM ? 'A stream' : 'A download'} of the type ${code(mediaType)}.</p>`
  if (schema.type === 'null')
    return html`<h3>Response ${status}</h3>
      <p>${code(null)}</p>`
  const example = media.example ?? exampleOf(document, schema)
  return html`<h3>Response ${status}</h3>
    ${jsonBlock(`Example of response ${status}`, example)} ${describe(document, schema, 'response')}`
}

function errorsOf(operation: Operation): Markup {
  const own = operation['x-error-reasons'].filter(reason => !UNIVERSAL.has(reason))
  return html`<h3>Errors</h3>
    ${own.length === 0 ? '' : reasonTable(own)}
    <p>
      <a href="/docs/reference/reasons#errors">Errors of every operation</a>, and
      <a href="/docs/guides/errors#what-to-do">what to do</a>
    </p>`
}

/** Reasons by status, with their messages. Each leads to what is written about it. */
function reasonTable(names: readonly string[]): Markup {
  const known = names.filter(isReason).toSorted((one, other) => reasons[one].status - reasons[other].status)
  return html`<dl class="reasons">
    ${known.map(
      name =>
        html`<div>
          <dt>
            <span class="status">${reasons[name].status}</span>
            <a href="/docs/reference/reasons#${name}">${code(name)}</a>
          </dt>
          <dd>${reasons[name].message}</dd>
        </div>`,
    )}
  </dl>`
}
