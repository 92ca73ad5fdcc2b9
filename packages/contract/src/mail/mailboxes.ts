import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, uuid } from '../shapes.ts'

export const mailboxRole = z.enum([
  'inbox',
  'sent',
  'drafts',
  'trash',
  'junk',
  'archive',
  'all',
  'important',
  'custom',
])

/** `folder`: a message is in exactly one. `label`: a message can carry several. */
export const mailboxKind = z.enum(['folder', 'label'])

export const mailbox = z
  .object({
    id: uuid,
    name: z.string().describe('The last part of `path`.'),
    path: z.string().describe('The full name, with `/` between the levels.'),
    parentId: uuid.nullable().describe('Null at the top level.'),
    role: mailboxRole.describe('The purpose of the mailbox; `custom` if it has no special one.'),
    kind: mailboxKind.describe('A message is in exactly one `folder`, but can have several `label`s.'),
    totalCount: z.int().nullable().describe('The provider’s count; null if it reports none.'),
    unreadCount: z.int().nullable().describe('The provider’s count; null if it reports none.'),
  })
  .meta({ id: 'Mailbox' })
export type Mailbox = z.infer<typeof mailbox>

/** The part of a mailbox that an event about a message includes. */
export const mailboxReference = mailbox
  .pick({ id: true, name: true, path: true, role: true, kind: true })
  .meta({ id: 'MailboxReference' })
export type MailboxReference = z.infer<typeof mailboxReference>

/** The values of `changes` in `mailbox.updated`. No event announces a change of counts. */
export const mailboxChange = z.enum(['name', 'path', 'parentId', 'role', 'kind'])
export type MailboxChange = z.infer<typeof mailboxChange>

export const mailboxes = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/mailboxes',
    scope: 'read',
    accountToken: true,
    summary: 'List the mailboxes of an account.',
    description: 'Returns all mailboxes in one answer, parents before children.',
    refuses: ['account_not_found'],
    params: accountPath,
    output: z.object({ items: z.array(mailbox) }),
  }),
}
