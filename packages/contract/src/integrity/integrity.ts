import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, queryBoolean, timestamp, uuid } from '../shapes.ts'

const count = (description: string) => z.int().min(0).describe(description)

const differences = {
  missing: count('Messages, contacts or events that the provider listed and the index lacked.'),
  extra: count('Messages, contacts or events of the index that the provider did not list.'),
  changed: count('Messages whose flags or categories differed, and contacts or events of another version.'),
  repaired: count('Differences of this comparison, or of those that led to it, that were repaired since.'),
}

export const mailboxIntegrity = z
  .object({
    mailboxId: uuid,
    comparedAt: timestamp.nullable().describe('When it was last compared; null before the first time.'),
    listed: count('Messages that the provider listed, within the sync window.'),
    indexed: count('Messages that the index had.'),
    ...differences,
  })
  .meta({ id: 'MailboxIntegrity' })
export type MailboxIntegrity = z.infer<typeof mailboxIntegrity>

export const contactFolderIntegrity = z
  .object({
    folderId: uuid.nullable().describe('Null if the provider has no folders of contacts.'),
    comparedAt: timestamp.nullable().describe('When it was last compared; null before the first time.'),
    listed: count('Contacts that the provider listed.'),
    indexed: count('Contacts that the index had.'),
    ...differences,
  })
  .meta({ id: 'ContactFolderIntegrity' })
export type ContactFolderIntegrity = z.infer<typeof contactFolderIntegrity>

export const calendarIntegrity = z
  .object({
    calendarId: uuid,
    comparedAt: timestamp.nullable().describe('When it was last compared; null before the first time.'),
    listed: count(
      'Single events and series that the provider listed, within the window of the index, and members of series that ' +
        'it lists by themselves.',
    ),
    indexed: count('Events and members that the index had, also at the edges of its window.'),
    ...differences,
  })
  .meta({ id: 'CalendarIntegrity' })
export type CalendarIntegrity = z.infer<typeof calendarIntegrity>

export const accountIntegrity = z
  .object({
    state: z
      .enum(['verified', 'behind', 'unverified'])
      .describe(
        '`verified`: every mailbox, calendar and contact folder was found equal to its provider within the last 26 ' +
          'hours. `behind`: a difference is not repaired yet. `unverified`: one of them was not compared yet, or too ' +
          'long ago, or its provider contradicts itself or seems to have been restored from a backup.',
      ),
    verifiedAt: timestamp
      .nullable()
      .describe('The time for which the whole account was last found equal; null if it never was.'),
    comparedAt: timestamp
      .nullable()
      .describe(
        'The oldest of the last comparisons; null while a mailbox, calendar or contact folder has had none.',
      ),
    ...differences,
    mailboxes: z.array(mailboxIntegrity).describe('Mailboxes that hold messages, by their paths.'),
    calendars: z
      .array(calendarIntegrity)
      .optional()
      .describe(
        'Absent unless calendars of the account are followed. They count for `state`, the times and the sums.',
      ),
    contactFolders: z
      .array(contactFolderIntegrity)
      .optional()
      .describe(
        'Absent unless contacts of the account are followed. They count for `state`, the times and the sums.',
      ),
  })
  .meta({ id: 'AccountIntegrity' })
export type AccountIntegrity = z.infer<typeof accountIntegrity>

export const integrity = {
  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/integrity',
    scope: 'read',
    summary: 'Show whether the index holds what the provider holds.',
    description:
      'Once a day, each mailbox is listed at the provider, and the messages and flags within the sync window are ' +
      'compared with the index, and so are the versions of the events of each calendar and the contacts of each folder. A difference is repaired by an ordinary sync, announced like any change, and compared ' +
      'again. With `refresh=true` a comparison of everything begins now, and the answer shows the last one; it is ' +
      'complete once `comparedAt` is later than the request. Refreshing counts towards the 30 requests a minute for a ' +
      'sync of the account, and needs an active account.',
    refuses: ['account_not_found', 'account_paused', 'account_disabled', 'account_reauth_required'],
    params: accountPath,
    query: z.strictObject({
      refresh: queryBoolean
        .default(false)
        .describe('Whether to compare every mailbox, calendar and contact folder now.'),
    }),
    output: accountIntegrity,
  }),
}
