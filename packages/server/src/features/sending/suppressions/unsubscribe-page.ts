import { type Html, html } from '../../../kit/html.ts'
import { PUBLIC_PAGE_POLICY, renderPublicPage } from '../../../pages/public-page.ts'
import type { LinkNames } from './store.ts'

/** The field that a POST must have (RFC 8058 section 3.2). The button of the page sends it too. */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const

/** Names of the list and of the sender, as the page shows them. */
export interface UnsubscribePage extends LinkNames {
  address: string
}

/** The page posts only to its own origin. */
export const UNSUBSCRIBE_POLICY = `${PUBLIC_PAGE_POLICY}; form-action 'self'`

const FORM = html`<form method="post">
  <input type="hidden" name="${ONE_CLICK.name}" value="${ONE_CLICK.value}" />
  <button class="first">Unsubscribe</button>
</form>`

/** The page that asks whether to unsubscribe. */
export function askingPage({ address, ...names }: UnsubscribePage): string {
  return renderPublicPage({
    heading: 'Unsubscribe',
    content: html`<p>Stop messages ${origin(names)} to <strong>${address}</strong>?</p>
      ${FORM}`,
  })
}

/** The page that confirms that the address is unsubscribed. */
export function donePage({ address, ...names }: UnsubscribePage): string {
  return renderPublicPage({
    heading: 'You are unsubscribed',
    content: html`<p>
      <strong>${address}</strong> gets no more messages ${origin(names)}. You can close this window.
    </p>`,
  })
}

/** The page after a form that did not request an unsubscription: nothing was changed. */
export function unchangedPage({ address }: UnsubscribePage): string {
  return renderPublicPage({
    heading: 'Nothing was changed',
    content: html`<p>
        The request did not ask to unsubscribe <strong>${address}</strong>. Press the button to unsubscribe.
      </p>
      ${FORM}`,
  })
}

function origin({ listName, senderName }: LinkNames): Html {
  const sender = html`from <strong>${senderName}</strong>`
  return listName === null ? sender : html`of the list “${listName}” ${sender}`
}
