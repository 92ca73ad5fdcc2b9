import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, collectionOf, pathId, text, uuid, uuidInput } from '../shapes.ts'
import { CHANGING_REASONS } from './changing-reasons.ts'

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

/** One level of a path. */
const mailboxName = text({ min: 1, max: 255 })
  .refine(name => !/\p{Cc}/u.test(name), 'must not contain control characters')
  .describe('One level, so without `/`, unless the mailbox is a label of Gmail.')

const mailboxPath = accountPath.extend({ mailboxId: pathId.describe('The mailbox’s `id`.') })

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
    output: collectionOf(mailbox),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/mailboxes',
    scope: 'write',
    accountToken: true,
    audit: 'mailbox.create',
    makes: 'mailboxId',
    summary: 'Create a mailbox.',
    description:
      'Creates it at the provider and subscribes to it. It is indexed and announced (`mailbox.created`) ' +
      'before the answer.',
    refuses: [...CHANGING_REASONS, 'unknown_mailbox', 'mailbox_parent'],
    params: accountPath,
    body: z.strictObject({
      name: mailboxName,
      parentId: uuidInput.optional().describe('Default: the top level.'),
    }),
    output: mailbox,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/mailboxes/{mailboxId}',
    scope: 'write',
    accountToken: true,
    audit: 'mailbox.update',
    summary: 'Rename or move a mailbox.',
    description:
      'Mailboxes below it, and subscriptions, follow. Each mailbox whose path changes is announced by ' +
      'one `mailbox.updated`. Only mailboxes with the role `custom` can be renamed or moved.',
    refuses: [...CHANGING_REASONS, 'unknown_mailbox', 'mailbox_parent', 'mailbox_protected'],
    params: mailboxPath,
    body: z.strictObject({
      name: mailboxName.optional(),
      parentId: uuidInput.nullable().optional().describe('Null moves it to the top level.'),
    }),
    output: mailbox,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/mailboxes/{mailboxId}',
    scope: 'write',
    accountToken: true,
    audit: 'mailbox.delete',
    summary: 'Delete a mailbox with its messages.',
    description:
      'A label of Gmail is removed and its messages stay. A mailbox with other mailboxes below it is ' +
      'refused with `provider_rejected`. The mailbox leaves the index at once; its messages leave with ' +
      'the next sync.',
    refuses: [...CHANGING_REASONS, 'unknown_mailbox', 'mailbox_protected'],
    params: mailboxPath,
    output: z.null(),
  }),
}
