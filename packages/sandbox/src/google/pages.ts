import { html, raw } from 'hono/html'
import type { User } from '../world/users.ts'
import type { Authorization, Blocked } from './authorization.ts'
import { describeScope, SIGN_IN_SCOPES } from './scopes.ts'

/** Markup whose values are escaped. */
type Markup = ReturnType<typeof html>

const STYLE = raw(`
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 28rem; margin: 3rem auto; padding: 0 1rem }
  main { border: 1px solid #8886; border-radius: 1rem; padding: 1.5rem }
  h1 { font-size: 1.4rem; margin-top: 0 }
  button { font: inherit; padding: .5rem 1rem; border-radius: .5rem; border: 1px solid #8886; cursor: pointer }
  .user { display: block; width: 100%; text-align: start; margin: .5rem 0 }
  .allow { background: #0b57d0; border-color: #0b57d0; color: #fff }
  label { display: block; margin: .75rem 0 }
  .note, small { opacity: .75 }
`)

function page(title: string, content: Markup): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <main>${content}</main>
        <p class="note">
          This is the Waxwing sandbox. It plays Google for tests, and knows no real accounts.
        </p>
      </body>
    </html>`
}

/** Where one of the sandbox's users is chosen. `query` is that of the authorization request. */
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
