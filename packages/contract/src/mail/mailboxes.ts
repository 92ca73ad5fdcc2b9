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
    path: z.string().describe('The full name, `/`-separated from the top level.'),
    parentId: uuid.nullable().describe('Null at the top level.'),
    role: mailboxRole.describe('What it is for; `custom` where nothing special.'),
    kind: mailboxKind.describe('A message is in exactly one `folder`, and can carry several `label`s.'),
    totalCount: z.int().nullable().describe('As the provider counts; null where it reports none.'),
    unreadCount: z.int().nullable().describe('As the provider counts; null where it reports none.'),
  })
  .meta({ id: 'Mailbox' })
export type Mailbox = z.infer<typeof mailbox>

/** A mailbox as events name it beside a message. */
export const mailboxReference = mailbox
  .pick({ id: true, name: true, path: true, role: true, kind: true })
  .meta({ id: 'MailboxReference' })
export type MailboxReference = z.infer<typeof mailboxReference>

/** What `changes` of `mailbox.updated` can name. Counts change without an event. */
export const mailboxChange = z.enum(['name', 'path', 'parentId', 'role', 'kind'])
export type MailboxChange = z.infer<typeof mailboxChange>

export const mailboxes = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/mailboxes',
    scope: 'read',
    accountToken: true,
    summary: 'List the mailboxes of an account.',
    description: 'All of them, parents before children.',
    refuses: ['account_not_found'],
    params: accountPath,
    output: z.object({ items: z.array(mailbox) }),
  }),
}
