import { html, raw } from 'hono/html'
import { SNIPPETS, type SnippetRequest } from './browser/snippets.js'
import type { OpenapiDocument, Parameter } from './document.ts'
import { ANY_TEXT, bodyExampleOf, exampleOf } from './example.ts'
import { renderExample } from './include-examples.ts'
import { type Markup, prose } from './markup.ts'
import { LANGUAGES, kindOf, resolveParameter } from './request-form.ts'
import type { Route } from './route.ts'
import { describe, limitsOf, typeOf } from './schema.ts'

/** The address of the service in examples, as in those of the guides. */
const ORIGIN = 'http://127.0.0.1:8025'
const GROUPS = [
  { place: 'path', title: 'Path' },
  { place: 'query', title: 'Query' },
  { place: 'header', title: 'Headers' },
] as const

/** A request for readers of pages that can send none: its parameters, the fields of its body, and the request as code. */
export function requestExample(document: OpenapiDocument, route: Route): Markup {
  const parameters = parametersOf(document, route)
  const schema = route.operation.requestBody?.content['application/json']?.schema
  const request = requestOf(document, route)
  const sources = LANGUAGES.map(language => ({
    ...language,
    code: SNIPPETS[language.name]?.(request, ORIGIN) ?? '',
  }))
  return html`<div class="request">
    <h3>Request</h3>
    ${GROUPS.map(({ place, title }) =>
      groupOf(
        title,
        parameters.filter(parameter => parameter.in === place),
      ),
    )}
    ${
      schema
        ? html`<h4>Body</h4>
            ${describe(document, schema, 'input')}`
        : ''
    }
    ${parameters.length === 0 && !schema ? html`<p>No parameters.</p>` : ''}
    ${raw(renderExample({ sources, output: null }))}
  </div>`
}

function groupOf(title: string, parameters: readonly Parameter[]): Markup {
  if (parameters.length === 0) return ''
  return html`<h4>${title}</h4>
    <ul class="fields">
      ${parameters.map(
        ({ name, required, description, schema }) =>
          html`<li>
            <code class="name">${name}</code> <span class="type">${typeOf(schema)}</span>
            ${required ? html`<span class="required">required</span>` : ''}
            <span class="limits">${limitsOf(schema)}</span>
            ${description === undefined ? '' : html`<p>${prose(description)}</p>`}
          </li>`,
      )}
    </ul>`
}

/** A request with an example of its body, and of each parameter that it must have. */
function requestOf(document: OpenapiDocument, route: Route): SnippetRequest {
  const { method, operation } = route
  const required = parametersOf(document, route).filter(parameter => parameter.required)
  const valuesIn = (place: Parameter['in']) =>
    Object.fromEntries(
      required
        .filter(parameter => parameter.in === place)
        .map(parameter => [parameter.name, String(valueOf(document, parameter))]),
    )
  const [inPath, inQuery, headers] = [valuesIn('path'), valuesIn('query'), valuesIn('header')]
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(inPath[name] ?? ''))
  const query = new URLSearchParams(inQuery)
  const media = operation.requestBody?.content['application/json']
  const body = media?.schema ? (media.example ?? bodyExampleOf(document, media.schema)) : undefined
  const kind = kindOf(operation)
  return {
    method,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body, null, 2),
    isDownload: kind === 'download',
    isStream: kind === 'stream',
    isPublic: operation['x-scope'] === 'none',
    operationId: operation.operationId,
    fields: Object.fromEntries(
      required
        .filter(parameter => parameter.in !== 'header')
        .map(parameter => [parameter.name, valueOf(document, parameter)]),
    ),
  }
}

/** An example of a parameter, or its name in capitals, such as `THREAD_ID`, for the reader to replace. */
function valueOf(document: OpenapiDocument, { name, schema }: Parameter): unknown {
  const example = exampleOf(document, schema)
  return example === ANY_TEXT ? name.replaceAll(/[A-Z]/g, '_$&').toUpperCase() : example
}

function parametersOf(document: OpenapiDocument, { operation }: Route): Parameter[] {
  return (operation.parameters ?? []).map(parameter => resolveParameter(document, parameter))
}
