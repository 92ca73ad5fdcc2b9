import { z } from 'zod'
import { emailInput, microsoftCloud, oauthProvider, text, uuidInput } from '../shapes.ts'
import { accountSettingsInput } from './account-settings.ts'

export const serverSecurity = z.enum(['tls', 'starttls', 'none'])

export const externalRef = text({ max: 255 })
  .nullable()
  .describe('Your own identifier for the account, such as the id of your user.')

/** These values are sent in protocol lines, where a control character would start another command. */
const line = (bounds: { min: number; max: number }) =>
  text(bounds).refine(value => !/\p{Cc}/u.test(value), 'must not contain control characters')

const password = line({ min: 1, max: 1024 })

/** Without this check, a pasted URL or `host:port` would be refused as a server that is not allowed. */
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
        'Default: `tls` on ports 993 and 465, otherwise `starttls`. `none` works only if the operator allows it.',
      ),
    user: line({ min: 1, max: 320 }).optional().describe('Default: the account’s email address.'),
  })
  .meta({ id: 'MailServerInput' })
export type MailServerInput = z.infer<typeof mailServerInput>

const davInput = z
  .strictObject({
    calendarUrl: text({ min: 1, max: 2000 })
      .nullish()
      .describe('An https URL of the CalDAV server. Absent: it is looked for. Null: no calendars.'),
    contactsUrl: text({ min: 1, max: 2000 })
      .nullish()
      .describe('An https URL of the CardDAV server. Absent: it is looked for. Null: no contacts.'),
    user: line({ min: 1, max: 320 }).optional().describe('Default: the user of the IMAP server.'),
    auth: z
      .enum(['imap_password', 'password'])
      .optional()
      .describe('Default: `password` if one is sent here, otherwise `imap_password`.'),
    password: password.optional().describe('Only with `auth` `password`.'),
  })
  .nullish()

export const imapAccountInput = z.strictObject({
  email: emailInput,
  displayName: text({ max: 255 }).nullish(),
  externalRef: externalRef.optional(),
  settings: accountSettingsInput.optional(),
  password,
  smtpPassword: password.optional().describe('Only if it differs from `password`.'),
  imap: mailServerInput.optional(),
  smtp: mailServerInput.nullish().describe('Null connects an account that only reads.'),
  appendSent: z
    .boolean()
    .default(true)
    .describe('Set to false if the server itself saves a copy of what it sends.'),
  dav: davInput.describe(
    'The servers of calendars and contacts. `{}` looks for both: as `GET /v1/autoconfig` does, then at the IMAP host. The halves that are found are switched on unless `settings` name them.',
  ),
})

export const imapSettingsInput = z.strictObject({
  imap: mailServerInput.optional(),
  smtp: mailServerInput.nullish().describe('Null removes the SMTP server.'),
  password: password.optional(),
  smtpPassword: password.nullish().describe('Null makes the SMTP login use `password` again.'),
  appendSent: z.boolean().optional(),
  dav: davInput.describe(
    'Absent fields stay; null removes calendars and contacts. A stored password goes to another domain only if it is sent again.',
  ),
})
export type ImapSettingsInput = z.infer<typeof imapSettingsInput>

export const accountInput = z.strictObject({
  provider: oauthProvider,
  microsoftCloud: microsoftCloud.optional().describe('Microsoft only.'),
  refreshToken: line({ min: 1, max: 8192 }).describe(
    'Issued by the provider to the OAuth app that is used here, with permission to read and change mail.',
  ),
  oauthAppId: uuidInput
    .optional()
    .describe(
      'The OAuth app to which the refresh token was issued. Default: the tenant’s oldest app of the provider and cloud, else the operator’s.',
    ),
  externalRef: externalRef.optional(),
  settings: accountSettingsInput.optional(),
})
export type AccountInput = z.infer<typeof accountInput>
