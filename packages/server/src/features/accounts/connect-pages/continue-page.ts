import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, html } from '../../../kit/html.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import { actionField, buttonRow, hasChoice, renderFlowPage, tenantOf } from './flow-view.ts'
import { scopesInWords } from './scope-words.ts'
import { waitingText } from './page-script.ts'

export interface Continuing {
  provider: OAuthProvider
  nonce: string
  scopes: readonly string[]
  /** The address that was typed on the page of choice; null if none was. */
  typedEmail: string | null
  /** Whether the form was sent before, with a nonce that does not work any more. */
  isStale: boolean
}

/** Shows which tenant asks for which permissions, and leads on to the provider. It works without scripts. */
export function continuePage(flow: ShownFlow, continuing: Continuing): string {
  const { provider, nonce, scopes, typedEmail, isStale } = continuing
  const { name } = signInAbilitiesOf(provider)
  return renderFlowPage(
    {
      heading: flow.reauthEmail === null ? `Continue to ${name}` : 'Sign in again',
      content: html`${isStale && STALE}
        <p>${tenantOf(flow)} asks ${name} for access to your account.</p>
        ${whatFor(scopes)} ${whichAccount(flow, typedEmail)}
        <form method="post">
          ${actionField('continue')}
          <input type="hidden" name="provider" value="${provider}" />
          <input type="hidden" name="nonce" value="${nonce}" />
          ${typedEmail !== null && html`<input type="hidden" name="email" value="${typedEmail}" />`}
          ${buttonRow(`Continue to ${name}`, hasChoice(flow) && CHOOSE_AGAIN)}
          ${waitingText(`Opening ${name} …`)}
        </form>
        ${passwordInstead(flow, typedEmail)}`,
    },
    html`<p class="soft">
      You enter your password at ${name} only. You can withdraw the access in your ${name} account at any
      time.
    </p>`,
  )
}

const STALE = html`<p class="note" role="alert">This page was used already. Press Continue again.</p>`

function whatFor(scopes: readonly string[]): Html | null {
  if (scopes.length === 0) return null
  return html`<p>It will be able to:</p>
    <ul>
      ${scopesInWords(scopes).map(words => html`<li>${words}</li>`)}
    </ul>`
}

function whichAccount({ reauthEmail, loginHint }: ShownFlow, typedEmail: string | null): Html | null {
  if (reauthEmail !== null)
    return html`<p>Sign in as <strong>${reauthEmail}</strong>. No other account can be used.</p>`
  const email = typedEmail ?? loginHint
  return email === null ? null : html`<p>Sign in as <strong>${email}</strong>.</p>`
}

const CHOOSE_AGAIN = html`<a class="button plain" href="?">Choose another way</a>`

function passwordInstead(flow: ShownFlow, typedEmail: string | null): Html | null {
  if (!hasChoice(flow) || !flow.passwordImap || typedEmail === null) return null
  return html`<form method="post">
    ${actionField('find')}
    <input type="hidden" name="email" value="${typedEmail}" />
    <input type="hidden" name="with" value="password" />
    <button>Use a password instead</button>
  </form>`
}
