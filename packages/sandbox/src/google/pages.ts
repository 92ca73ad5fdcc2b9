import { html } from 'hono/html'
import { type Markup, openPages } from '../sign-in/page.ts'
import type { User } from '../world/users.ts'
import type { Authorization, Blocked } from './authorization.ts'
import { describeScope, SIGN_IN_SCOPES } from './scopes.ts'

const page = openPages(
  'Google',
  ':root { --allow: #0b57d0 } main { border-radius: 1rem } button { border-radius: .5rem }',
)

/** The page on which one of the sandbox's users is chosen. `query` is that of the authorization request. */
export function chooserPage({ client }: Authorization, users: readonly User[], query: string): Markup {
  return page(
    'Sign in',
    html`<h1>Choose an account</h1>
      <p>to continue to <strong>${client.name}</strong></p>
      <form method="post" action="/signin/oauth/account">
        <input type="hidden" name="request" value="${query}" />
        ${users.map(
          ({ email, name }) =>
            html`<button class="user" name="user" value="${email}">
              ${name}<br /><small>${email}</small>
            </button>`,
        )}
      </form>`,
  )
}

/**
 * The page on which a user allows or denies what a client asks for. The user may untick each scope, but not those of
 * sign-in.
 */
export function consentPage({ client, scopes }: Authorization, user: User, query: string): Markup {
  const asked = scopes.filter(scope => !SIGN_IN_SCOPES.includes(scope))
  return page(
    'Sign in',
    html`<h1>${client.name} wants access to your account</h1>
      <p>${user.email}</p>
      <form method="post" action="/signin/oauth/consent">
        <input type="hidden" name="request" value="${query}" />
        <input type="hidden" name="user" value="${user.email}" />
        ${asked.length > 0 ? html`<p>Select what ${client.name} can access:</p>` : ''}
        ${asked.map(
          scope =>
            html`<label
              ><input type="checkbox" name="scope" value="${scope}" checked /> ${describeScope(scope)}</label
            >`,
        )}
        <button name="answer" value="deny">Cancel</button>
        <button class="allow" name="answer" value="allow">Continue</button>
        <p><button name="answer" value="other">Use another account</button></p>
      </form>`,
  )
}

/** The page of an error that Google shows instead of sending the browser back. */
export function blockedPage({ status, error, message }: Blocked): Markup {
  return page(
    `Error ${status} (${error})`,
    html`<h1>Access blocked: Authorization Error</h1>
      <p>${message}</p>
      <p>Error ${status}: ${error}</p>`,
  )
}
