import { z } from 'zod'
import { operation } from '../operation.ts'
import { bodyStorage, optOutHandling, text } from '../shapes.ts'

export const syncWindowDays = z
  .int()
  .min(1)
  .max(36_500)
  .nullable()
  .describe('How many days of mail the index holds; null holds the full history.')
export const undoSendSeconds = z
  .int()
  .min(0)
  .max(60)
  .describe('Seconds that a send waits before it leaves, so that it can be cancelled.')

export const mcpSendPolicy = z
  .object({
    mode: z
      .enum(['allow', 'confirm', 'drafts_only'])
      .describe(
        'Permission of an AI assistant: send, send after a person’s confirmation, or only write drafts.',
      ),
    allowedRecipientDomains: z
      .array(z.string())
      .nullable()
      .describe('Null: any domain. Empty: only the account’s own domain.'),
    dailySendLimit: z
      .int()
      .min(1)
      .max(10_000)
      .nullable()
      .describe('Sends per credential and UTC day; null: no limit.'),
    externalRecipientConfirmation: z
      .boolean()
      .describe('Whether a person must confirm a send to an address that the account has never written to.'),
  })
  .meta({ id: 'McpSendPolicy' })

export const tenantSettings = z
  .object({
    bodyStorage,
    syncWindowDays,
    calendarEnabled: z.boolean().describe('Sync calendars, if the account has any.'),
    contactsEnabled: z.boolean().describe('Sync contacts, if the account has any.'),
    undoSendSeconds,
    trackOpens: z.boolean().describe('Report when a sent message is opened.'),
    trackClicks: z.boolean().describe('Report when a link in a sent message is clicked.'),
    trackingHoneypot: z
      .boolean()
      .describe('Add a link that only machines follow, to tell their clicks from those of people.'),
    optOutHandling,
    eventRetentionDays: z.int().min(7).max(30).describe('Days that events stay in the change feed.'),
    redirectUris: z
      .array(z.string())
      .max(50)
      .describe('URIs that users may be sent back to after a sign-in.'),
    aiReplyClassification: z.boolean().describe('Classify replies with a language model.'),
    mcpSendPolicy,
  })
  .meta({ id: 'TenantSettings' })
export type TenantSettings = z.infer<typeof tenantSettings>

const DOMAIN =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const domainInput = z.string().regex(DOMAIN, 'must be a domain').toLowerCase()

const mcpSendPolicyInput = z.strictObject({
  mode: mcpSendPolicy.shape.mode.optional(),
  allowedRecipientDomains: z.array(domainInput).max(100).nullable().optional(),
  dailySendLimit: mcpSendPolicy.shape.dailySendLimit.optional(),
  externalRecipientConfirmation: z.boolean().optional(),
})

/** Schemes that a browser runs or opens itself instead of handing them to an app. */
const REFUSED_SCHEMES = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'about:',
  'ftp:',
  'ws:',
  'wss:',
])
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A URI that a browser may be sent back to: https, http on this machine, or the private scheme of an app. */
const redirectUri = text({ min: 1, max: 2000 }).refine(
  isRedirectUri,
  'must be an https URL, an http URL of localhost or a URL with the scheme of an app, without credentials or fragment',
)

/** Whether a browser may be sent back there, as far as the URI itself says. */
export function isRedirectUri(value: string): boolean {
  if (!URL.canParse(value) || /[\s\p{Cc}\\]/u.test(value) || value.includes('#')) return false
  const { protocol, hostname, username, password } = new URL(value)
  if (username !== '' || password !== '' || REFUSED_SCHEMES.has(protocol)) return false
  return protocol !== 'http:' || LOOPBACK_HOSTS.has(hostname)
}

export const tenantSettingsInput = z.strictObject({
  ...tenantSettings.partial().shape,
  redirectUris: z.array(redirectUri).max(50).optional(),
  mcpSendPolicy: mcpSendPolicyInput.optional(),
})
export type TenantSettingsInput = z.infer<typeof tenantSettingsInput>

export const settings = {
  get: operation({
    method: 'GET',
    path: '/v1/settings',
    scope: 'read',
    summary: 'Read the tenant’s settings.',
    output: tenantSettings,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/settings',
    scope: 'admin',
    audit: 'settings.update',
    summary: 'Change the tenant’s settings.',
    description:
      'Only the fields that are present change; the same holds for the keys of `mcpSendPolicy`. An ' +
      'account without its own value for a setting follows the tenant’s. `account.updated` is announced ' +
      'for each account whose effective settings change. An account syncs again if its `bodyStorage`, ' +
      '`calendarEnabled` or `syncWindowDays` changes.',
    refuses: ['honeypot_needs_click_tracking', 'plan_limit_storage', 'storage_unavailable'],
    body: tenantSettingsInput,
    output: tenantSettings,
  }),
}
