import { z } from 'zod'
import { operation } from '../operation.ts'
import { bodyStorage, optOutHandling, text } from '../shapes.ts'

export const syncWindowDays = z
  .int()
  .min(1)
  .max(36_500)
  .nullable()
  .describe('Days of mail that are kept in the index; null keeps the full history.')
export const undoSendSeconds = z
  .int()
  .min(0)
  .max(60)
  .describe('How long a send waits, in which it can be cancelled.')

export const mcpSendPolicy = z
  .object({
    mode: z
      .enum(['allow', 'confirm', 'drafts_only'])
      .describe('What an assistant may do: send, send what a person confirmed, or write drafts.'),
    allowedRecipientDomains: z
      .array(z.string())
      .nullable()
      .describe('Null: no restriction. Empty: only the account’s own domain.'),
    dailySendLimit: z.int().min(1).max(10_000).nullable().describe('Per credential and UTC day; null: none.'),
    externalRecipientConfirmation: z
      .boolean()
      .describe('Addresses that the account never sent to take a confirmation.'),
  })
  .meta({ id: 'McpSendPolicy' })

export const tenantSettings = z
  .object({
    bodyStorage,
    syncWindowDays,
    calendarEnabled: z.boolean().describe('Calendars are synced, where the account has any.'),
    contactsEnabled: z.boolean().describe('Contacts are synced, where the account has any.'),
    undoSendSeconds,
    trackOpens: z.boolean().describe('Sends tell when they are opened.'),
    trackClicks: z.boolean().describe('Sends tell when a link is followed.'),
    trackingHoneypot: z.boolean().describe('A link that only machines follow tells them from people.'),
    optOutHandling,
    eventRetentionDays: z.int().min(7).max(30).describe('How long the change feed reaches back.'),
    redirectUris: z.array(z.string()).max(50).describe('Where users may be sent back to after a sign-in.'),
    aiReplyClassification: z.boolean().describe('A language model says what replies are.'),
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

/** Schemes that a browser runs or reads by itself instead of handing them to an app. */
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

/** Where a browser may be sent back to: https, http on this machine, or the private scheme of an app. */
const redirectUri = text({ min: 1, max: 2000 }).refine(
  isRedirectUri,
  'must be an https URL, an http URL of localhost or a URL with the scheme of an app, without credentials or fragment',
)

function isRedirectUri(value: string): boolean {
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
      'Fields that are present change, absent ones stay; so do the keys of `mcpSendPolicy`. Accounts without their own ' +
      'value for a setting follow the tenant’s, and `account.updated` is announced for each whose settings change. ' +
      'Another `bodyStorage`, `calendarEnabled` or `syncWindowDays` restarts their syncs.',
    refuses: ['honeypot_needs_click_tracking', 'plan_limit_storage'],
    body: tenantSettingsInput,
    output: tenantSettings,
  }),
}
