import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, type HtmlPart, html } from '../../../kit/html.ts'
import { type PublicPage, renderPublicPage } from '../../public-page.ts'
import { sendOnce } from './send-once.ts'

export const PROVIDER_NAMES: Readonly<Record<OAuthProvider, string>> = {
  google: 'Google',
  microsoft: 'Microsoft',
}

/** What a form of these pages asks for, as its field `do` says. */
export const ACTIONS = ['find', 'continue', 'connect', 'cancel'] as const
export type Action = (typeof ACTIONS)[number]

export const actionField = (action: Action): Html => html`<input type="hidden" name="do" value="${action}" />`

/** Who asks. */
export const tenantOf = ({ tenantName }: ShownFlow): Html => html`<strong>${tenantName}</strong>`

const CANCEL = html`<form method="post">
  ${actionField('cancel')}
  <button class="plain">Cancel</button>
</form>`

/** Renders a page of a flow that goes on, with the button that ends it and what follows that. */
export function renderFlowPage(page: PublicPage, last: HtmlPart = null): string {
  return renderPublicPage({ ...page, content: html`${page.content} ${CANCEL} ${last} ${sendOnce}` })
}

/** Whether there is a page of choice: with one way to connect there is none. */
export function hasChoice({ providers, passwordImap, reauthEmail }: ShownFlow): boolean {
  if (reauthEmail !== null) return false
  return providers.length !== 1 || passwordImap
}
