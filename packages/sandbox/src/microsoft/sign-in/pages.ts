import { html } from 'hono/html'
import { type Markup, openPages } from '../../sign-in/page.ts'
import type { User } from '../../world/users.ts'
import type { Answer } from './authorization.ts'
import type { SignInError } from './errors.ts'
import { describePermission } from './scopes.ts'

const page = openPages('Microsoft', ':root { --allow: #0067b8 }')

/** A form of the sign-in: its path, and the request that it carries along. */
export interface Step {
  readonly action: string
  /** The query of the request at the first page. */
  readonly request: string
}

/** The page on which one of the sandbox's users is chosen. */
export function chooserPage(appName: string, users: readonly User[], { action, request }: Step): Markup {
  return page(
    'Sign in to your account',
    html`<h1>Pick an account</h1>
      <p>to continue to <strong>${appName}</strong></p>
      <form method="post" action="${action}">
        <input type="hidden" name="request" value="${request}" />
        ${users.map(
          ({ email, name }) =>
            html`<button class="user" name="user" value="${email}">
              ${name}<br /><small>${email}</small>
            </button>`,
        )}
      </form>`,
  )
}

export interface Consent {
  readonly appName: string
  readonly user: User
  readonly permissions: readonly string[]
  /** Whether the user may allow the app for all users of the tenant: not at all, by a box, or only so. */
  readonly forAll: 'no' | 'offered' | 'only'
}

/** The page on which a user accepts what a client asks for, or cancels. */
export function consentPage({ appName, user, permissions, forAll }: Consent, step: Step): Markup {
  return page(
    'Permissions requested',
    html`<h1>Permissions requested</h1>
      <p><small>${user.email}</small></p>
      <p><strong>${appName}</strong>${forAll === 'only' ? ' for your organization' : ''} would like to:</p>
      <ul>
        ${permissions.map(permission => html`<li>${describePermission(permission)}</li>`)}
        <li>Maintain access to data you have given it access to</li>
      </ul>
      <form method="post" action="${step.action}">
        <input type="hidden" name="request" value="${step.request}" />
        <input type="hidden" name="user" value="${user.email}" />
        ${
          forAll === 'offered'
            ? html`<label
                ><input type="checkbox" name="forAll" value="1" /> Consent on behalf of your
                organization</label
              >`
            : ''
        }
        <button name="answer" value="cancel">Cancel</button>
        <button class="allow" name="answer" value="accept">Accept</button>
      </form>`,
  )
}

/** The page of a user whose organization lets only an administrator allow the app. */
export function approvalPage(appName: string, user: User, { action, request }: Step): Markup {
  return page(
    'Need admin approval',
    html`<h1>Need admin approval</h1>
      <p><small>${user.email}</small></p>
      <p>
        <strong>${appName}</strong> needs permission to access resources in your organization that only an
        admin can grant. Please ask an admin to grant permission to this app before you can use it.
      </p>
      <form method="post" action="${action}">
        <input type="hidden" name="request" value="${request}" />
        <input type="hidden" name="user" value="${user.email}" />
        <button name="answer" value="return">Return to the application without granting consent</button>
      </form>`,
  )
}

export function errorPage({ code, message }: SignInError): Markup {
  return page(
    'Sign in to your account',
    html`<h1>Sign in</h1>
      <p>Sorry, but we’re having trouble signing you in.</p>
      <p>AADSTS${code}: ${message}</p>`,
  )
}

/** A page that posts the answer to the client by itself (OAuth 2.0 Form Post Response Mode). */
export function formPostPage({ back: { redirectUri, state }, parameters }: Answer): Markup {
  const fields = Object.entries({ ...parameters, ...(state !== null && { state }) })
  return html`<!doctype html>
    <html lang="en">
      <head>
        <title>Working...</title>
      </head>
      <body>
        <form method="post" action="${redirectUri}">
          ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
          <noscript><button>Continue</button></noscript>
        </form>
        <script>
          document.forms[0].submit()
        </script>
      </body>
    </html>`
}
