import { COMMON_REASONS, IDEMPOTENCY_REASONS } from '@waxwing/contract/reasons.ts'
import { html } from 'hono/html'
import type { OpenapiDocument, Tag } from './document.ts'
import { type Markup, prose } from './markup.ts'
import { type Route, operationSection, reasonTable, routeLink } from './operation.ts'
import { schemaSection } from './schema.ts'

const ERROR_EXAMPLE = {
  defined: true,
  code: 'invalid_input',
  status: 400,
  message: 'The request is not valid. See data.issues for what to change.',
  data: { issues: [{ path: ['limit'], message: 'must be an integer from 1 to 200' }] },
}

/** The reference page of a document. It can be read without a script; the script searches and sends requests. */
export async function renderReference(document: OpenapiDocument): Promise<string> {
  const sections = document.tags.map(tag => ({ tag, routes: routesOf(document, tag) }))
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${document.info.title} reference</title>
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <link rel="stylesheet" href="/docs/reference.css" />
        <script type="module" src="/docs/reference.js"></script>
      </head>
      <body>
        <a class="skip" href="#operations">Skip to the operations</a>
        ${header(document)}
        <div class="page">
          <nav aria-label="Operations">
            <details class="contents">
              <summary>Contents</summary>
              ${sections.map(({ tag, routes }) => navigation(tag, routes))}
              <h2><a href="#errors">Errors</a></h2>
              <h2><a href="#schemas">Schemas</a></h2>
            </details>
          </nav>
          <main>
            ${about(document)}
            <p id="found" role="status" hidden></p>
            <div id="operations" tabindex="-1">
              ${sections.map(({ tag, routes }) => section(document, tag, routes))}
            </div>
            ${errors()} ${schemas(document)}
          </main>
        </div>
      </body>
    </html>`
  return (await page).toString()
}

function routesOf(document: OpenapiDocument, { name }: Tag): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(name))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

function titleOf(tag: Tag): string {
  return tag['x-displayName'] ?? tag.name
}

function header({ info }: OpenapiDocument): Markup {
  return html`<header>
    <a class="title" href="#about">${info.title} <span>reference</span></a>
    <div class="tools" hidden>
      <label for="search">Search</label>
      <input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false" />
      <label for="key">API key</label>
      <input id="key" type="password" placeholder="API key, wk_…" autocomplete="off" spellcheck="false" />
      <button id="forget" type="button">Forget</button>
    </div>
  </header>`
}

function navigation(tag: Tag, routes: Route[]): Markup {
  return html`<div>
    <h2><a href="#section-${tag.name}">${titleOf(tag)}</a></h2>
    <ul>
      ${routes.map(route => html`<li>${routeLink(route)}</li>`)}
    </ul>
  </div>`
}

function about({ info }: OpenapiDocument): Markup {
  const paragraphs = info.description.split('\n\n')
  return html`<section id="about">
    <h1>${info.title} reference</h1>
    ${paragraphs.map(paragraph => html`<p>${prose(paragraph)}</p>`)}
    <p>
      The same for programs: <a href="/v1/openapi.json">the OpenAPI document</a> (version ${info.version} of
      the interface).
    </p>
    <p class="note no-script">
      Everything can be read without JavaScript. Search, and sending requests from here, take it.
    </p>
    <p class="note try-note" hidden>
      With an API key above, requests can be sent from here, and <strong>they are real</strong>: they read and
      change what the key may reach. The key stays in this tab, until you press Forget or close the tab.
    </p>
  </section>`
}

function section(document: OpenapiDocument, tag: Tag, routes: Route[]): Markup {
  return html`<section class="group" id="section-${tag.name}">
    <h2>${titleOf(tag)}</h2>
    ${tag.description === undefined ? '' : html`<p>${prose(tag.description)}</p>`}
    ${routes.map(route => operationSection(document, route))}
  </section>`
}

function errors(): Markup {
  return html`<section id="errors">
    <h2>Errors</h2>
    <p>
      Every error is a JSON object of this shape. Decide by <code>code</code>; <code>message</code> is for
      people. New codes may appear, so treat an unknown one by its status.
    </p>
    <pre tabindex="0">${JSON.stringify(ERROR_EXAMPLE, null, 2)}</pre>
    <h3>Every operation can answer</h3>
    ${reasonTable(COMMON_REASONS)}
    <h3>Every POST can answer</h3>
    ${reasonTable(IDEMPOTENCY_REASONS)}
  </section>`
}

function schemas({ components }: OpenapiDocument): Markup {
  return html`<section id="schemas">
    <h2>Schemas</h2>
    ${Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema))}
  </section>`
}
