import type { ShownFlow } from '../connect-sessions/flows.ts'
import { type Html, html } from '../../../kit/html.ts'
import { textField } from './fields.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import { actionField, buttonRow, renderFlowPage, tenantOf } from './flow-view.ts'

export interface TypedAddress {
  email: string
  /** Text about an error in the address; null if there is none. */
  error: string | null
}

/** Asks for the address, which finds its provider, or lets the person choose one. */
export function choicePage(flow: ShownFlow, { email, error }: TypedAddress): string {
  const heading = 'Connect your mailbox'
  return renderFlowPage({
    heading,
    title: error === null ? heading : `Error: ${heading}`,
    content: html`<p>${tenantOf(flow)} asks for access to your mailbox.</p>
      <form method="post" novalidate>
        ${actionField('find')}
        ${textField({
          name: 'email',
          label: 'Your email address',
          value: email,
          error,
          type: 'email',
          autocomplete: 'email',
          isFocused: error !== null,
        })}
        ${buttonRow('Continue')}
      </form>
      ${providerLinks(flow)}`,
  })
}

function providerLinks({ providers }: ShownFlow): Html | null {
  if (providers.length === 0) return null
  return html`<p class="or">or</p>
    <ul class="buttons">
      ${providers.map(
        provider =>
          html`<li>
            <a class="button" href="?with=${provider}">Sign in with ${signInAbilitiesOf(provider).name}</a>
          </li>`,
      )}
    </ul>`
}
