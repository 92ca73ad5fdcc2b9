import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, type HtmlPart, html } from '../../../kit/html.ts'
import { type PublicPage, renderPublicPage } from '../../../pages/public-page.ts'
import { pageScript } from './page-script.ts'

/** The actions that the forms of these pages request, in their field `do`. */
export const ACTIONS = ['find', 'continue', 'connect', 'cancel'] as const
export type Action = (typeof ACTIONS)[number]

export const actionField = (action: Action): Html => html`<input type="hidden" name="do" value="${action}" />`

/** The tenant that asks for the mailbox. */
export const tenantOf = ({ tenantName }: ShownFlow): Html => html`<strong>${tenantName}</strong>`

const CANCEL_ID = 'cancel'

/** The buttons of a page in a row: the main one, other ways, and Cancel, which sends a form of its own. */
export function buttonRow(first: string, others: HtmlPart = null): Html {
  return html`<div class="row">
    <button class="first">${first}</button>
    ${others}
    <button class="plain" form="${CANCEL_ID}">Cancel</button>
  </div>`
}

const CANCEL = html`<form method="post" id="${CANCEL_ID}" hidden>${actionField('cancel')}</form>`

/** Renders a page of a flow that goes on, with the form of its Cancel button and the elements after it. */
export function renderFlowPage(page: PublicPage, last: HtmlPart = null): string {
  return renderPublicPage({ ...page, content: html`${page.content} ${CANCEL} ${last} ${pageScript}` })
}

/** Whether there is a page of choice: with one way to connect there is none. */
export function hasChoice({ providers, passwordImap, reauthEmail }: ShownFlow): boolean {
  if (reauthEmail !== null) return false
  return providers.length !== 1 || passwordImap
}
