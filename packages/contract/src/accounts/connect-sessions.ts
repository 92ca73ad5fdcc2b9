import { z } from 'zod'
import { externalRef, imapAccountInput } from './account-inputs.ts'
import { accountSettingsInput } from './account-settings.ts'
import { foundServers } from './autoconfig.ts'
import { operation } from '../operation.ts'
import {
  emailInput,
  microsoftCloud,
  oauthProvider,
  pathId,
  text,
  timestamp,
  uuid,
  uuidInput,
} from '../shapes.ts'

/** Every way in which a connect flow fails: `error` of a session, and of the return to a `redirectUri`. */
export const CONNECT_ERRORS = [
  'access_denied',
  'access_token_rejected',
  'account_exists',
  'account_mismatch',
  'billing_past_due',
  'cancelled',
  'internal_error',
  'invalid_client',
  'invalid_grant',
  'oauth_app_secret_unreadable',
  'plan_limit_accounts',
  'provider_forbidden',
  'provider_not_configured',
  'provider_throttled',
  'provider_unavailable',
  'scope_denied',
  'scope_missing',
  'session_expired',
  'session_used',
  'token_exchange_failed',
] as const
export type ConnectError = (typeof CONNECT_ERRORS)[number]

const redirectUri = text({ min: 1, max: 2000 })
  .refine(value => URL.canParse(value), 'must be a URI')
  .describe(
    'Where the user’s browser goes at the end. It must be in `settings.redirectUris`, exactly as it is.',
  )
const returnedState = text({ max: 1024 }).describe('Returned with the user, unchanged.')
const loginHint = emailInput.describe('The address that the provider’s sign-in suggests.')
const reconnected = uuidInput.describe(
  'The account that signs in again. Nothing but its own provider is offered, and `options` are ignored.',
)
const cloud = microsoftCloud.describe(
  'Microsoft only. Default: the global one; on a reconnect that of the account.',
)
const newSettings = accountSettingsInput.describe('The account’s own settings.')

const connectSession = z
  .object({
    id: uuid,
    status: z.enum(['pending', 'completed', 'failed']),
    error: z
      .enum(CONNECT_ERRORS)
      .nullable()
      .describe('Why it failed. `session_expired` if it was not completed in time.'),
    accountId: uuid.nullable().describe('The account that was connected, or that is to sign in again.'),
    email: z.string().nullable().describe('The address of the account that was connected.'),
    mcpKeyId: uuid.nullable(),
    mcpKeySkipped: z.enum(['mcp_key_limit']).nullable(),
    expiresAt: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'ConnectSession' })
export type ConnectSession = z.infer<typeof connectSession>

export const connectSessionInput = z.strictObject({
  redirectUri: redirectUri.optional(),
  providers: z
    .array(oauthProvider)
    .min(1)
    .max(10)
    .optional()
    .describe('The providers offered, in this order. Default: all that have an OAuth app.'),
  microsoftCloud: cloud.optional(),
  oauthAppIds: z
    .strictObject({ google: uuidInput.optional(), microsoft: uuidInput.optional() })
    .optional()
    .describe(
      'The OAuth apps to sign in with. Default: on a reconnect that of the account, else the tenant’s oldest app of ' +
        'the provider and cloud, else the operator’s.',
    ),
  externalRef: externalRef.optional(),
  loginHint: loginHint.optional(),
  state: returnedState.optional(),
  accountId: reconnected.optional(),
  options: z
    .strictObject({
      settings: newSettings.optional(),
      passwordImap: z
        .boolean()
        .optional()
        .describe(
          'Whether the form for an IMAP mailbox is offered. Default: only if `providers` is left out.',
        ),
    })
    .optional(),
  ttlSeconds: z.int().min(60).max(86_400).default(3600).describe('Seconds for which the link works.'),
})
export type ConnectSessionInput = z.infer<typeof connectSessionInput>

export const oauthAuthorizationInput = z.strictObject({
  provider: oauthProvider,
  redirectUri,
  microsoftCloud: cloud.optional(),
  oauthAppId: uuidInput
    .optional()
    .describe('The OAuth app to sign in with. Default: as for a connect session.'),
  externalRef: externalRef.optional(),
  loginHint: loginHint.optional(),
  state: returnedState.optional(),
  accountId: reconnected.optional(),
  options: z.strictObject({ settings: newSettings.optional() }).optional(),
})
export type OAuthAuthorizationInput = z.infer<typeof oauthAuthorizationInput>

const REFUSED_FLOWS = [
  'cloud_required',
  'honeypot_needs_click_tracking',
  'not_microsoft',
  'oauth_app_mismatch',
  'org_connection_account',
  'plan_limit_storage',
  'plan_module_unavailable',
  'provider_not_allowed',
  'provider_not_configured',
  'provider_unsupported',
  'redirect_uri_not_allowed',
  'shared_mailbox_account',
  'storage_unavailable',
  'unknown_account',
  'unknown_oauth_app',
] as const

export const connectSessions = {
  create: operation({
    method: 'POST',
    path: '/v1/connect-sessions',
    scope: 'write',
    audit: 'connect_session.create',
    makes: 'sessionId',
    summary: 'Create a link by which a user connects a mailbox.',
    description:
      'Send the user to `url`. Whoever has it can connect one mailbox, so treat it as a secret. At the end the browser ' +
      'goes to `redirectUri` with `status=success&account_id=…` or `status=error&error=…`, and `state` if one was ' +
      'given; without a `redirectUri` it stays on a page that says how it ended.',
    refuses: REFUSED_FLOWS,
    body: connectSessionInput,
    output: z
      .object({ id: uuid, url: z.string().describe('Shown only this once.'), expiresAt: timestamp })
      .meta({ id: 'ConnectLink' }),
  }),

  get: operation({
    method: 'GET',
    path: '/v1/connect-sessions/{sessionId}',
    scope: 'read',
    summary: 'Read how a connect session ended.',
    description: 'Sessions are kept for 30 days.',
    refuses: ['connect_session_not_found'],
    params: z.strictObject({ sessionId: pathId.describe('The session’s `id`.') }),
    output: connectSession,
  }),

  authorize: operation({
    method: 'POST',
    path: '/v1/oauth-authorizations',
    scope: 'write',
    audit: 'oauth_authorization.create',
    makes: 'authorizationId',
    summary: 'Create a link by which a user signs in with one provider.',
    description:
      'Send the user’s browser to `authorizeUrl`, which works for one hour. Pages of your own offer the choice; this ' +
      'one only asks the user to continue to the provider. The return to `redirectUri` is the only answer.',
    refuses: REFUSED_FLOWS,
    body: oauthAuthorizationInput,
    output: z
      .object({ authorizeUrl: z.string().describe('Shown only this once.') })
      .meta({ id: 'OAuthAuthorization' }),
  }),
}

const hostedPath = z.strictObject({
  token: text({ min: 1, max: 1024 }).describe('The last part of the session’s `url`.'),
})

export const hostedImapInput = imapAccountInput.omit({ externalRef: true, settings: true })
export type HostedImapInput = z.infer<typeof hostedImapInput>

export const hostedConnectSessions = {
  get: operation({
    method: 'GET',
    path: '/v1/hosted/connect-sessions/{token}',
    scope: 'none',
    session: 'connect_session',
    summary: 'Read what a connect session offers.',
    description: 'For a page of your own in place of the hosted one. The token is the only credential.',
    params: hostedPath,
    output: z
      .object({
        tenantName: z.string(),
        providers: z.array(oauthProvider).describe('In the order in which to offer them.'),
        passwordImap: z.boolean().describe('Whether an IMAP mailbox can be connected with a password.'),
        microsoftCloud: microsoftCloud.nullable(),
        status: connectSession.shape.status,
        reauthEmail: z.string().nullable().describe('The address of the account that is to sign in again.'),
        loginHint: z.string().nullable(),
        expiresAt: timestamp,
      })
      .meta({ id: 'HostedConnectSession' }),
  }),

  connectImap: operation({
    method: 'POST',
    path: '/v1/hosted/connect-sessions/{token}/imap-accounts',
    scope: 'none',
    session: 'connect_session',
    audit: 'connect_session.complete',
    summary: 'Connect an IMAP mailbox with a password, and end the session.',
    description:
      'The service logs in to both servers before it stores anything. A login that fails is `login_failed`, whatever ' +
      'the cause, and the session goes on: 5 tries a session, 20 an hour for a client address. A reconnect replaces the ' +
      'passwords only; servers that are sent are ignored. Once the mailbox has been logged in to, the answer is a ' +
      '`redirectUrl`, which says if the mailbox could not be connected nevertheless.',
    refuses: [
      'account_mismatch',
      'autodiscovery_failed',
      'login_failed',
      'plaintext_not_allowed',
      'provider_conflict',
      'provider_not_allowed',
      'provider_unsupported',
    ],
    params: hostedPath,
    body: hostedImapInput,
    output: z
      .object({ redirectUrl: z.string().describe('Send the browser there.') })
      .meta({ id: 'ConnectRedirect' }),
  }),

  findServers: operation({
    method: 'GET',
    path: '/v1/hosted/connect-sessions/{token}/autoconfig',
    scope: 'none',
    session: 'connect_session',
    summary: 'Find the mail servers of an address.',
    description: 'Searches as `GET /v1/autoconfig` does, at most 30 times a session.',
    refuses: ['autodiscovery_failed'],
    params: hostedPath,
    query: z.strictObject({ email: emailInput.describe('The address whose servers to find.') }),
    output: foundServers,
  }),
}
