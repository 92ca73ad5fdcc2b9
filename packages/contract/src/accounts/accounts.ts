import { z } from 'zod'
import { SCOPES, operation } from '../operation.ts'
import {
  accountPath,
  cursor,
  microsoftCloud,
  pageLimit,
  pageOf,
  queryBoolean,
  queryText,
  timestamp,
  uuid,
  uuidInput,
} from '../shapes.ts'
import {
  accountInput,
  externalRef,
  imapAccountInput,
  imapSettingsInput,
  serverSecurity,
} from './account-inputs.ts'
import { accountSettings, accountSettingsInput, accountSettingsOverride } from './account-settings.ts'

export const accountProvider = z.enum(['gmail', 'graph', 'imap'])
export const accountStatus = z.enum(['active', 'paused', 'reauth_required', 'disabled'])
export const syncKind = z.enum(['mail', 'calendar', 'contacts'])
export type SyncKind = z.infer<typeof syncKind>

export const mailServer = z
  .object({
    host: z.string(),
    port: z.int(),
    security: serverSecurity.describe(
      '`tls` encrypts from the first byte, `starttls` upgrades a plain connection, `none` never encrypts.',
    ),
    user: z.string().describe('The login name.'),
  })
  .meta({ id: 'MailServer' })

export const accountRuntime = z
  .object({
    state: z
      .enum(['pending', 'connecting', 'syncing', 'live', 'backoff', 'stopped'])
      .describe(
        '`pending` also when no process follows the account: its owner released it, or has sent no heartbeat for 30 ' +
          'seconds. `stopped` when the account is not `active`.',
      ),
    detail: z.string().nullable().describe('A short explanation for people.'),
    ownerInstanceId: uuid.describe('The process that wrote this report.'),
    updatedAt: timestamp,
  })
  .meta({ id: 'AccountRuntime' })

export const account = z
  .object({
    id: uuid,
    externalRef: z.string().nullable().describe('Your own identifier for the account.'),
    provider: accountProvider,
    email: z.string(),
    displayName: z.string().nullable(),
    oauthAppId: uuid.nullable().describe('The OAuth app that the user signed in with.'),
    cloud: microsoftCloud.nullable().describe('Microsoft accounts only.'),
    status: accountStatus.describe(
      'Only `active` accounts are synced. `paused` is set by you, `reauth_required` when the provider ' +
        'refuses the login, `disabled` by the provider or the operator.',
    ),
    statusReason: z.string().nullable().describe('The reason for the status, if there is more to say.'),
    settings: accountSettings,
    settingsOverride: accountSettingsOverride,
    runtime: accountRuntime
      .nullable()
      .describe('The last report of the process that follows the account; null before the first one.'),
    imap: z
      .object({
        imap: mailServer,
        smtp: mailServer.nullable(),
        auth: z.enum(['password', 'oauth']),
        appendSent: z.boolean().describe('Whether a copy of each sent message is saved to the sent mailbox.'),
        dav: z
          .object({
            calendarUrl: z.string().nullable(),
            contactsUrl: z.string().nullable(),
            user: z.string(),
            auth: z.enum(['imap_password', 'password', 'oauth']),
          })
          .nullable(),
      })
      .nullable()
      .describe('IMAP accounts only.'),
    auth: z.object({
      method: z.enum(['oauth', 'password', 'org_connection', 'delegate']),
      orgConnectionId: uuid.optional(),
      delegateAccountId: uuid.optional(),
    }),
    initializedAt: timestamp.nullable().describe('When the first sync of mail finished.'),
    calendarInitializedAt: timestamp.nullable().describe('When the first sync of calendars finished.'),
    contactsInitializedAt: timestamp.nullable().describe('When the first sync of contacts finished.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Account' })
export type Account = z.infer<typeof account>

export const accounts = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts',
    scope: 'read',
    summary: 'List accounts, newest first.',
    description: 'Filters are combined with AND. A key that is bound to accounts lists only those.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
      externalRef: queryText(1, 255).optional().describe('Exact match.'),
      q: queryText(1, 200)
        .optional()
        .describe('Part of the email address or `externalRef`. Case does not matter.'),
      status: accountStatus.optional().describe('Only accounts with this status.'),
      orgConnectionId: uuidInput.optional().describe('Only accounts of this organization connection.'),
      delegateAccountId: uuidInput
        .optional()
        .describe('Only shared mailboxes that are opened by this account.'),
    }),
    output: pageOf(account),
  }),

  connect: operation({
    method: 'POST',
    path: '/v1/accounts',
    scope: 'write',
    audit: 'account.create',
    makes: 'accountId',
    summary: 'Connect a mailbox with a refresh token.',
    description:
      'The provider names the mailbox, and the address of the account is that. A newer refresh token that it sends ' +
      'replaces the given one. An account of the same user that is `reauth_required` or `disabled` gets the new ' +
      'grant, unless another `externalRef` than its own is named; otherwise the answer is `account_exists`. If the ' +
      'token does not allow calendars or contacts, they are turned off for the account; if `settings` turns them on, ' +
      'it is refused with `scope_missing`. A token that does not allow shared mailboxes connects nevertheless.',
    refuses: [
      'access_token_rejected',
      'account_exists',
      'billing_past_due',
      'cloud_required',
      'honeypot_needs_click_tracking',
      'invalid_client',
      'invalid_grant',
      'not_microsoft',
      'oauth_app_mismatch',
      'oauth_app_secret_unreadable',
      'plan_limit_accounts',
      'plan_limit_storage',
      'plan_module_unavailable',
      'provider_forbidden',
      'provider_not_configured',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'scope_missing',
      'storage_unavailable',
      'token_exchange_failed',
      'unknown_oauth_app',
    ],
    body: accountInput,
    output: account,
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}',
    scope: 'read',
    accountToken: true,
    summary: 'Read an account.',
    refuses: ['account_not_found'],
    params: accountPath,
    output: account,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}',
    scope: 'write',
    audit: 'account.update',
    summary: 'Change, pause or resume an account.',
    description:
      'Only the fields that are present change. `settings` is merged into the account’s own settings; ' +
      '`resetSettings` names settings that follow the tenant’s again. The account syncs again if its ' +
      'effective `bodyStorage`, `calendarEnabled` or `syncWindowDays` changes. Calendars and contacts for which the ' +
      'user gave no permission cannot be turned on (`scope_missing`). `sharedMailboxesEnabled` takes effect when the ' +
      'user signs in again. An account leaves `reauth_required` and ' +
      '`disabled` only with a new grant.',
    refuses: [
      'account_not_found',
      'account_reauth_required',
      'account_disabled',
      'honeypot_needs_click_tracking',
      'plan_limit_storage',
      'plan_module_unavailable',
      'provider_unsupported',
      'scope_missing',
      'storage_unavailable',
    ],
    params: accountPath,
    body: z
      .strictObject({
        externalRef: externalRef.optional(),
        status: z
          .enum(['active', 'paused'])
          .optional()
          .describe('`paused` stops syncing, `active` resumes it.'),
        settings: accountSettingsInput.optional(),
        resetSettings: z
          .array(accountSettings.keyof())
          .max(20)
          .optional()
          .describe('Settings that follow the tenant’s value again.'),
      })
      .refine(({ settings, resetSettings }) => !resetSettings?.some(name => settings?.[name] !== undefined), {
        path: ['resetSettings'],
        message: 'must not name a setting that is also given in settings',
      }),
    output: account,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}',
    scope: 'write',
    audit: 'account.delete',
    summary: 'Delete an account.',
    description:
      'Its credentials are removed and its tokens revoked at once. The indexed data is purged after 30 ' +
      'days. With `purge=true` it is purged soon after the request, also if the account was deleted ' +
      'earlier. The mailbox at the provider is not touched and can be connected again at once.',
    refuses: ['account_not_found'],
    params: accountPath,
    query: z.strictObject({
      purge: queryBoolean.default(false).describe('Purge the indexed data soon, not after 30 days.'),
    }),
    output: z.null(),
  }),

  sync: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/sync',
    scope: 'write',
    audit: 'account.sync',
    summary: 'Request a sync pass now.',
    description:
      'At most one pass per kind is queued; a request during a pass queues one more. At most 30 ' +
      'requests a minute per account. An account that is not active is synced when it becomes active.',
    refuses: ['account_not_found', 'sync_kinds_disabled'],
    params: accountPath,
    body: z.strictObject({
      kinds: z
        .array(syncKind)
        .min(1)
        .max(20)
        .optional()
        .describe('Default: every kind that is enabled for the account.'),
    }),
    output: z
      .object({ kinds: z.array(syncKind).describe('The requested kinds.') })
      .meta({ id: 'RequestedSync' }),
    successStatus: 202,
  }),

  createToken: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/tokens',
    scope: 'write',
    audit: 'account_token.create',
    makes: 'tokenId',
    summary: 'Create a short-lived token for this account only.',
    description:
      'The token ends when the account is deleted, or when the key that created it is revoked or expires. ' +
      'If the key loses a scope, its tokens lose it too. A repeated request with the same ' +
      '`Idempotency-Key` needs a credential that has the token’s scopes.',
    refuses: ['account_not_found'],
    params: accountPath,
    body: z.strictObject({
      ttlSeconds: z
        .int()
        .min(60)
        .max(86_400)
        .default(3600)
        .describe('Lifetime of the token in seconds. It ends earlier if its key expires earlier.'),
      scopes: z
        .array(z.enum(SCOPES))
        .min(1)
        .max(SCOPES.length)
        .optional()
        .describe(
          'Scopes of the token, on this account only. Default: the scopes of the key that creates it. ' +
            'A scope that the key lacks is refused with `missing_scope`.',
        ),
    }),
    output: z
      .object({ token: z.string().describe('Shown only this once.'), expiresAt: timestamp })
      .meta({ id: 'AccountToken' }),
  }),

  createImap: operation({
    method: 'POST',
    path: '/v1/imap-accounts',
    scope: 'write',
    audit: 'account.create',
    makes: 'accountId',
    summary: 'Connect an IMAP mailbox with a password.',
    description:
      'The service logs in to both servers before it stores anything. If a server is left out, it is ' +
      'searched for as `GET /v1/autoconfig` does; if none is found, the request is refused with ' +
      '`autodiscovery_failed`. `smtp: null` connects an account that only reads. With `dav` it logs in to the ' +
      'servers of calendars and contacts as well.',
    refuses: [
      'account_exists',
      'autodiscovery_failed',
      'billing_past_due',
      'dav_discovery_failed',
      'dav_unsupported',
      'honeypot_needs_click_tracking',
      'login_failed',
      'not_dav_server',
      'plaintext_not_allowed',
      'plan_limit_accounts',
      'plan_limit_storage',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'server_not_allowed',
      'storage_unavailable',
    ],
    body: imapAccountInput,
    output: account,
  }),

  updateImapSettings: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/imap-settings',
    scope: 'write',
    audit: 'account.update_imap',
    summary: 'Change the servers or the password of an IMAP account.',
    description:
      'The service first logs in with the changed servers or password; if that fails, nothing changes. If ' +
      'no password is given, it uses the stored one, but never with a host other than the one it was ' +
      'stored for: a new `host` without a password is refused with `password_required`. A server is ' +
      'replaced as a whole, except that it keeps its `user` if none is given. A `password` that logs in ' +
      'is a new grant: the account leaves `reauth_required` and `disabled`. If the servers are changed by ' +
      'another request meanwhile, the answer is `provider_conflict`. Calendars or contacts that are removed, or whose ' +
      'server is another one, leave the index.',
    refuses: [
      'account_not_found',
      'dav_discovery_failed',
      'dav_unsupported',
      'login_failed',
      'not_dav_server',
      'not_imap_account',
      'oauth_servers_fixed',
      'password_not_stored',
      'password_required',
      'password_unsupported',
      'plaintext_not_allowed',
      'provider_conflict',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'server_not_allowed',
    ],
    params: accountPath,
    body: imapSettingsInput,
    output: account,
  }),
}
