import { z } from 'zod'
import { SCOPES, operation } from '../operation.ts'
import { tenantSettings } from './settings.ts'
import {
  accountPath,
  cursor,
  emailInput,
  microsoftCloud,
  pageLimit,
  pageOf,
  queryBoolean,
  queryText,
  text,
  timestamp,
  uuid,
  uuidInput,
} from '../shapes.ts'

export const accountProvider = z.enum(['gmail', 'graph', 'imap'])
export const accountStatus = z.enum(['active', 'paused', 'reauth_required', 'disabled'])
export const syncKind = z.enum(['mail', 'calendar', 'contacts'])
export type SyncKind = z.infer<typeof syncKind>

export const accountSettings = tenantSettings
  .pick({
    bodyStorage: true,
    syncWindowDays: true,
    calendarEnabled: true,
    contactsEnabled: true,
    undoSendSeconds: true,
    trackOpens: true,
    trackClicks: true,
    trackingHoneypot: true,
  })
  .meta({ id: 'AccountSettings' })
export type AccountSettings = z.infer<typeof accountSettings>

/** What an account sets for itself; the rest is the tenant's. */
export const accountSettingsOverride = accountSettings.partial().meta({ id: 'AccountSettingsOverride' })
export type AccountSettingsOverride = z.infer<typeof accountSettingsOverride>

export const accountSettingsInput = z
  .strictObject({ ...accountSettingsOverride.shape, sharedMailboxesEnabled: z.boolean().optional() })
  .meta({ id: 'AccountSettingsInput' })
export type AccountSettingsInput = z.infer<typeof accountSettingsInput>

const serverSecurity = z.enum(['tls', 'starttls', 'none'])

export const mailServer = z
  .object({
    host: z.string(),
    port: z.int(),
    security: serverSecurity.describe('`tls` from the first byte, `starttls`, or `none`: in the clear.'),
    user: z.string().describe('The name to log in with.'),
  })
  .meta({ id: 'MailServer' })

export const accountRuntime = z
  .object({
    state: z
      .enum(['pending', 'connecting', 'syncing', 'live', 'backoff', 'stopped'])
      .describe(
        '`pending` also while no process follows the account: its owner let it go, or has not been heard of for 30 seconds. `stopped` where the account is not `active`.',
      ),
    detail: z.string().nullable().describe('In words, for people.'),
    ownerInstanceId: uuid.describe('The process that made this report.'),
    updatedAt: timestamp,
  })
  .meta({ id: 'AccountRuntime' })

export const account = z
  .object({
    id: uuid,
    externalRef: z.string().nullable().describe('Your own name for it.'),
    provider: accountProvider,
    email: z.string(),
    displayName: z.string().nullable(),
    oauthAppId: uuid.nullable().describe('The OAuth app that the user signed in with.'),
    cloud: microsoftCloud.nullable().describe('Of Microsoft accounts.'),
    status: accountStatus.describe(
      'Only `active` accounts are synced. `paused`: by you. `reauth_required`: the provider refuses the login. ' +
        '`disabled`: by the provider or the operator.',
    ),
    statusReason: z.string().nullable().describe('Why, where there is more to say.'),
    settings: accountSettings,
    settingsOverride: accountSettingsOverride,
    runtime: accountRuntime
      .nullable()
      .describe('The last report of an owning instance; null before the first.'),
    imap: z
      .object({
        imap: mailServer,
        smtp: mailServer.nullable(),
        auth: z.enum(['password', 'oauth']),
        appendSent: z.boolean().describe('Whether what is sent is filed in the sent mailbox.'),
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
      .describe('Of IMAP accounts.'),
    auth: z.object({
      method: z.enum(['oauth', 'password', 'org_connection', 'delegate']),
      orgConnectionId: uuid.optional(),
      delegateAccountId: uuid.optional(),
    }),
    initializedAt: timestamp.nullable().describe('When the first sync of mail was complete.'),
    calendarInitializedAt: timestamp.nullable().describe('The same of calendars.'),
    contactsInitializedAt: timestamp.nullable().describe('The same of contacts.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Account' })
export type Account = z.infer<typeof account>

const externalRef = text({ max: 255 })
  .nullable()
  .describe('Your own name for it, such as the id of your user.')

/** Servers take them in protocol lines, where a control character would begin another command. */
const line = (bounds: { min: number; max: number }) =>
  text(bounds).refine(value => !/\p{Cc}/u.test(value), 'must not contain control characters')

const password = line({ min: 1, max: 1024 })

/** A pasted URL or `host:port` would otherwise be refused as a server that may not be connected to. */
function isHost(value: string): boolean {
  const isName = /^[^\s/?#@:\\]+$/.test(value.trim())
  return isName || /^\[?[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*\]?$/i.test(value.trim())
}

const mailServerInput = z
  .strictObject({
    host: line({ min: 1, max: 253 }).refine(
      isHost,
      'must be a host name or an address, without scheme, port or path',
    ),
    port: z.int().min(1).max(65_535),
    security: serverSecurity
      .optional()
      .describe(
        'Default `tls` on ports 993 and 465, else `starttls`. `none` only where the operator allows it.',
      ),
    user: line({ min: 1, max: 320 }).optional().describe('Default: the account’s email address.'),
  })
  .meta({ id: 'MailServerInput' })
export type MailServerInput = z.infer<typeof mailServerInput>

const davInput = z
  .strictObject({
    calendarUrl: text({ min: 1, max: 2000 }).nullish(),
    contactsUrl: text({ min: 1, max: 2000 }).nullish(),
    user: line({ min: 1, max: 320 }).optional(),
    auth: z.enum(['imap_password', 'password']).optional(),
    password: password.optional(),
  })
  .nullish()
  .describe('Calendars and contacts are not offered yet: anything but null answers `provider_unsupported`.')

export const imapAccountInput = z.strictObject({
  email: emailInput,
  displayName: text({ max: 255 }).nullish(),
  externalRef: externalRef.optional(),
  settings: accountSettingsInput.optional(),
  password,
  smtpPassword: password.optional().describe('Only where it differs from `password`.'),
  imap: mailServerInput.optional(),
  smtp: mailServerInput.nullish().describe('Null: the account only reads.'),
  appendSent: z
    .boolean()
    .default(true)
    .describe('False where the server files a copy of what it sends by itself.'),
  dav: davInput,
})

export const imapSettingsInput = z.strictObject({
  imap: mailServerInput.optional(),
  smtp: mailServerInput.nullish().describe('Null removes it.'),
  password: password.optional(),
  smtpPassword: password.nullish().describe('Null: the SMTP server takes `password` again.'),
  appendSent: z.boolean().optional(),
  dav: davInput,
})
export type ImapSettingsInput = z.infer<typeof imapSettingsInput>

export const accounts = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts',
    scope: 'read',
    summary: 'List accounts, newest first.',
    description: 'Filters narrow each other. A key that is bound to accounts lists only those.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
      externalRef: queryText(1, 255).optional().describe('Exactly.'),
      q: queryText(1, 200).optional().describe('Part of the email or externalRef, in any case.'),
      status: accountStatus.optional().describe('Only accounts with this status.'),
      orgConnectionId: uuidInput.optional().describe('Only accounts of this organization connection.'),
      delegateAccountId: uuidInput.optional().describe('Only shared mailboxes that this account opens.'),
    }),
    output: pageOf(account),
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
      'Fields that are present change. `settings` are merged into what the account sets for itself; `resetSettings` ' +
      'names those that follow the tenant’s settings again. Another effective `bodyStorage`, `calendarEnabled` or ' +
      '`syncWindowDays` restarts its syncs. Only a new grant leads out of `reauth_required` and `disabled`.',
    refuses: [
      'account_not_found',
      'account_reauth_required',
      'account_disabled',
      'honeypot_needs_click_tracking',
      'plan_limit_storage',
      'provider_unsupported',
    ],
    params: accountPath,
    body: z
      .strictObject({
        externalRef: externalRef.optional(),
        status: z
          .enum(['active', 'paused'])
          .optional()
          .describe('`paused` stops its sync, `active` resumes it.'),
        settings: accountSettingsInput.optional(),
        resetSettings: z
          .array(accountSettings.keyof())
          .max(20)
          .optional()
          .describe('Settings that follow the tenant’s again.'),
      })
      .refine(({ settings, resetSettings }) => !resetSettings?.some(name => settings?.[name] !== undefined), {
        path: ['resetSettings'],
        message: 'must not name a setting that settings gives a value',
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
      'Its credentials are removed and its tokens revoked at once. What was indexed is purged after 30 days, or shortly ' +
      'after with `purge=true`, which also purges an account that was deleted before. The mailbox itself is not touched, ' +
      'and can be connected again at once.',
    refuses: ['account_not_found'],
    params: accountPath,
    query: z.strictObject({
      purge: queryBoolean
        .default(false)
        .describe('Delete what was indexed shortly, instead of after 30 days.'),
    }),
    output: z.null(),
  }),

  sync: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/sync',
    scope: 'write',
    audit: 'account.sync',
    summary: 'Ask for a sync pass now.',
    description:
      'One pass per kind is kept waiting; a request during a pass becomes one extra pass. At most 30 a minute for each ' +
      'account. An account that is not active is synced once it is.',
    refuses: ['account_not_found', 'sync_kinds_disabled'],
    params: accountPath,
    body: z.strictObject({
      kinds: z
        .array(syncKind)
        .min(1)
        .max(20)
        .optional()
        .describe('Default: every kind that the account has enabled.'),
    }),
    output: z.object({ kinds: z.array(syncKind).describe('What was asked for.') }),
    successStatus: 202,
  }),

  createToken: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/tokens',
    scope: 'write',
    audit: 'account_token.create',
    summary: 'Mint a short-lived token that acts on this account only.',
    description:
      'It ends with the account, and when the key that minted it is revoked or expires. If a key loses a scope, its tokens ' +
      'lose it too. To replay this request with the same `Idempotency-Key`, the caller needs every scope of the token.',
    refuses: ['account_not_found'],
    params: accountPath,
    body: z.strictObject({
      ttlSeconds: z
        .int()
        .min(60)
        .max(86_400)
        .default(3600)
        .describe('How long the token is valid. It ends earlier if its key expires earlier.'),
      scopes: z
        .array(z.enum(SCOPES))
        .min(1)
        .max(SCOPES.length)
        .optional()
        .describe(
          'What it may do, on this account only. Default: the scopes of the key that mints it; a scope that the key lacks ' +
            'answers `missing_scope`.',
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
    summary: 'Connect an IMAP mailbox with a password.',
    description:
      'Both servers are logged in to before anything is stored. A server that is left out is searched for as by ' +
      '`GET /v1/autoconfig`, and `autodiscovery_failed` where none is found; `smtp: null` connects an account that only ' +
      'reads. Calendars and contacts are not offered yet: `dav` answers `provider_unsupported` and connects nothing.',
    refuses: [
      'account_exists',
      'autodiscovery_failed',
      'honeypot_needs_click_tracking',
      'login_failed',
      'plaintext_not_allowed',
      'plan_limit_accounts',
      'plan_limit_storage',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'server_not_allowed',
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
      'What changes is tried by logging in first, with the stored password where none is given; nothing is changed when ' +
      'that fails. A stored password is sent to no other host than before: with another `host` answers ' +
      '`password_required` where the password is not sent as well. A server is replaced as a whole, but keeps its ' +
      '`user` where none is given. A `password` that logs in is a new grant: it leads out of `reauth_required` and ' +
      '`disabled`. Another change of the servers meanwhile answers `provider_conflict`.',
    refuses: [
      'account_not_found',
      'login_failed',
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
