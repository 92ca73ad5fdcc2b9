import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath } from '../shapes.ts'

export const accountMailSettings = z
  .object({
    signByDefault: z
      .boolean()
      .describe('Whether sends that do not say `sign` get the signature of their identity. Starts false.'),
  })
  .meta({ id: 'MailSettings' })
export type MailSettings = z.infer<typeof accountMailSettings>

const path = '/v1/accounts/{accountId}/mail-settings'

export const mailSettings = {
  get: operation({
    method: 'GET',
    path,
    scope: 'read',
    accountToken: true,
    summary: 'Read the mail settings of an account.',
    refuses: ['account_not_found'],
    params: accountPath,
    output: accountMailSettings,
  }),

  update: operation({
    method: 'PATCH',
    path,
    scope: 'write',
    accountToken: true,
    audit: 'mail_settings.update',
    summary: 'Change the mail settings of an account.',
    description: 'Only the fields that are present change.',
    refuses: ['account_not_found'],
    params: accountPath,
    body: z.strictObject(accountMailSettings.partial().shape),
    output: accountMailSettings,
  }),
}
