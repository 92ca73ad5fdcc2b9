import { COMMON_REASONS, IDEMPOTENCY_REASONS } from '@waxwing/contract/reasons.ts'
import { html } from 'hono/html'
import type { OpenapiDocument, Tag } from './document.ts'
import { type Guide, guideLinks } from './guides.ts'
import { renderPage } from './layout.ts'
import { type Markup, jsonBlock, prose } from './markup.ts'
import { operationSection, reasonTable, routeLink } from './operation.ts'
import { type Route } from './route.ts'
import { schemaSection } from './schema.ts'

const ERROR_EXAMPLE = {
  defined: true,
  code: 'invalid_input',
  status: 400,
  message: 'The request is not valid. See data.issues for what to change.',
  data: { issues: [{ path: ['limit'], message: 'must be an integer from 1 to 200' }] },
}

/**
 * Renders the reference page of a document. It can be read without a script; the script searches and sends requests.
 */
export function renderReference(document: OpenapiDocument, guides: Guide[]): Promise<string> {
  const sections = document.tags.map(tag => ({ tag, routes: routesOf(document, tag) }))
  return renderPage({
    title: `${document.info.title} reference`,
    styles: ['reference.css', 'dialogs.css'],
    script: 'reference.js',
    tools: tools(),
    navigation: {
      label: 'Contents',
      groups: [
        guideLinks(guides),
        ...sections.map(({ tag, routes }) => navigation(tag, routes)),
        html`<div data-group="errors">
          <h2><a href="#errors">Errors</a></h2>
        </div>`,
        html`<div data-group="schemas">
          <h2><a href="#schemas">Schemas</a></h2>
        </div>`,
      ],
    },
    main: html`${about(document)}
      <p id="found" role="status" hidden></p>
      ${guideSection(guides)} ${sections.map(({ tag, routes }) => section(document, tag, routes))} ${errors()}
      ${schemas(document)}`,
    overlays: html`${credentialPanel()} ${confirmDialog()}`,
  })
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

function tools(): Markup {
  return html`<div class="tools needs-script">
    <label for="search">Search</label>
    <input id="search" type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false" />
    <button type="button" popovertarget="credential">
      API key <span id="key-state" class="soft">not set</span>
    </button>
  </div>`
}

function credentialPanel(): Markup {
  return html`<div id="credential" popover>
    <label for="key">API key</label>
    <input id="key" type="password" placeholder="wk_…" autocomplete="off" spellcheck="false" />
    <p class="choice">
      <input id="keep" type="checkbox" />
      <label for="keep">Keep it in this tab when the page is reloaded</label>
    </p>
    <p class="soft">
      The key is sent with requests from this page. It never appears in a URL or an example. Unless you keep
      it, it is forgotten when you leave the page.
    </p>
    <p>
      <button type="button" popovertarget="credential" popovertargetaction="hide">Done</button>
      <button id="forget" type="button">Forget</button>
    </p>
  </div>`
}

function confirmDialog(): Markup {
  return html`<dialog
    id="confirm"
    aria-labelledby="confirm-title"
    aria-describedby="confirm-target confirm-effect"
  >
    <h2 id="confirm-title"></h2>
    <pre id="confirm-request"></pre>
    <dl id="confirm-target"></dl>
    <p id="confirm-effect"></p>
    <p class="buttons">
      <button id="confirm-cancel" type="button" autofocus>Cancel</button>
      <button id="confirm-send" type="button" class="danger"></button>
    </p>
  </dialog>`
}

function navigation(tag: Tag, routes: Route[]): Markup {
  return html`<div data-group="section-${tag.name}">
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
      For programs, there is <a href="/v1/openapi.json">the OpenAPI document</a> (version ${info.version} of
      the interface).
    </p>
    <p class="note no-script">
      Everything can be read without JavaScript. Searching and sending requests need it.
    </p>
    <p class="note needs-script">
      With an API key you can send requests from here, and <strong>they are real</strong>: they read and
      change everything that the key can access. A request that deletes something asks for confirmation.
    </p>
  </section>`
}

function guideSection(guides: Guide[]): Markup {
  return html`<section class="group" id="guides">
    <h2>Guides</h2>
    <ul class="guides">
      ${guides.map(
        ({ name, title, headings }) =>
          html`<li class="unit" id="guide-${name}">
            <a href="/docs/guides/${name}">${title}</a>
            <span class="soft">${headings.map(({ text }) => text).join(' · ')}</span>
          </li>`,
      )}
    </ul>
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
  return html`<section class="group" id="errors">
    <h2>Errors</h2>
    <p>
      Every error is a JSON object of this shape. Decide by <code>code</code>; <code>message</code> is for
      people. New codes may be added, so handle an unknown one by its status. What to do in each case is
      described in the guide <a href="/docs/guides/errors">Errors</a>.
    </p>
    ${jsonBlock('An error', ERROR_EXAMPLE)}
    <div class="subgroup">
      <h3>Errors of every operation</h3>
      ${reasonTable(COMMON_REASONS, 'unit')}
    </div>
    <div class="subgroup">
      <h3>Errors of every POST</h3>
      ${reasonTable(IDEMPOTENCY_REASONS, 'unit')}
    </div>
  </section>`
}

function schemas({ components }: OpenapiDocument): Markup {
  return html`<section class="group" id="schemas">
    <h2>Schemas</h2>
    ${Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema))}
  </section>`
}
