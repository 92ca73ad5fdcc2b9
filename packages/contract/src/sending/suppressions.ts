import { z } from 'zod'
import { mailAddress } from '../mail/address-input.ts'
import { operation } from '../operation.ts'
import {
  collectionOf,
  cursor,
  pageLimit,
  pageOf,
  pathId,
  pathName,
  queryBoolean,
  queryText,
  singleLine,
  text,
  timestamp,
  uuid,
} from '../shapes.ts'

/** The list that every send consults. */
export const GLOBAL_LIST = 'global'
export const SUPPRESSION_LIST_ID = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
export const SUPPRESSION_REASON_LENGTH_MAX = 200
const ADDRESSES_MAX = 1000
const ADDRESS_LENGTH_MAX = 320

/** The id of a suppression list in a body. */
export const suppressionListId = z
  .string()
  .regex(
    SUPPRESSION_LIST_ID,
    'must have 1 to 63 lower-case letters, digits and hyphens, with no hyphen at its ends',
  )

export const suppressionSource = z
  .enum(['unsubscribe', 'bounce', 'api', 'reply', 'complaint', 'inactive'])
  .meta({ id: 'SuppressionSource' })
export type SuppressionSource = z.infer<typeof suppressionSource>

export const suppressionList = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    count: z.int().describe('How many addresses are on it.'),
    counts: z
      .object({
        unsubscribe: z.int(),
        bounce: z.int(),
        api: z.int(),
        reply: z.int(),
        complaint: z.int(),
        inactive: z.int(),
      })
      .describe('How many of them came from each source.'),
    createdAt: timestamp.nullable().describe('Null for the global list.'),
  })
  .meta({ id: 'SuppressionList' })
export type SuppressionList = z.infer<typeof suppressionList>

export const suppressionEntry = z
  .object({
    address: z.string().describe('In lower case, with the domain as A-labels.'),
    source: suppressionSource.describe(
      '`unsubscribe`: by the link of a message. `bounce`: the address does not exist. `reply`: asked for in a ' +
        'reply. `complaint`: reported as spam. `inactive`: the person left the address. `api`: added here.',
    ),
    reason: z.string().describe('For people. Empty if none was given.'),
    createdAt: timestamp,
  })
  .meta({ id: 'SuppressionEntry' })
export type SuppressionEntry = z.infer<typeof suppressionEntry>

export const suppressionReview = z
  .object({
    id: uuid,
    listId: z.string().describe('The list that the address is put on when the review is approved.'),
    address: z.string(),
    source: suppressionSource,
    accountId: uuid,
    messageId: uuid.describe('The message that was detected, which may be gone.'),
    probability: z.number().min(0).max(1).describe('How certain the detection is.'),
    alternateContacts: z.array(z.string()).describe('Other addresses that the message names.'),
    createdAt: timestamp,
  })
  .meta({ id: 'SuppressionReview' })
export type SuppressionReview = z.infer<typeof suppressionReview>

const name = singleLine({ min: 1, max: 100 })
const description = text({ max: 1000 }).nullish()

const listPath = z.strictObject({
  listId: pathName.describe('The list’s `id`; `global` is the global list.'),
})
const reviewPath = z.strictObject({ reviewId: pathId.describe('The review’s `id`.') })

export const suppressions = {
  list: operation({
    method: 'GET',
    path: '/v1/suppressions',
    scope: 'read',
    summary: 'List the suppression lists.',
    description: 'Returns all lists in one answer: the global one first, then the others by their `id`.',
    output: collectionOf(suppressionList),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/suppressions',
    scope: 'write',
    audit: 'suppression_list.create',
    makes: 'listId',
    summary: 'Create a suppression list.',
    description:
      'A send or an addition that names a missing list creates it too, named after its `id`. A tenant has at most ' +
      '1,000 lists besides the global one.',
    refuses: ['suppression_list_exists'],
    body: z.strictObject({ id: suppressionListId.describe('Never changes.'), name, description }),
    output: suppressionList,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/suppressions/{listId}',
    scope: 'write',
    audit: 'suppression_list.update',
    summary: 'Change the name or the description of a suppression list.',
    description: 'Only the fields that are present change. The global list cannot be changed.',
    refuses: ['suppression_list_not_found'],
    params: listPath,
    body: z.strictObject({ name: name.optional(), description }),
    output: suppressionList,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/suppressions/{listId}',
    scope: 'write',
    audit: 'suppression_list.delete',
    summary: 'Delete a suppression list.',
    description:
      'Deletes its waiting reviews too. Later sends that name it create an empty list of that id. The ' +
      'global list cannot be deleted.',
    refuses: ['suppression_list_not_empty', 'suppression_list_not_found'],
    params: listPath,
    query: z.strictObject({
      withEntries: queryBoolean
        .default(false)
        .describe('Whether to delete a list that has addresses. They are then no longer suppressed by it.'),
    }),
    output: z.null(),
  }),

  listEntries: operation({
    method: 'GET',
    path: '/v1/suppressions/{listId}/entries',
    scope: 'read',
    summary: 'List the addresses of a suppression list, newest first.',
    description:
      'Filters are combined with AND. A filtered page looks through 50,000 addresses at most, so it may have few ' +
      'items or none although `nextCursor` says that more follow.',
    refuses: ['invalid_cursor', 'suppression_list_not_found'],
    params: listPath,
    query: z.strictObject({
      address: queryText(1, ADDRESS_LENGTH_MAX).optional().describe('Only addresses that contain this.'),
      source: suppressionSource.optional().describe('Only addresses from this source.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(suppressionEntry),
  }),

  addEntries: operation({
    method: 'POST',
    path: '/v1/suppressions/{listId}/entries',
    scope: 'write',
    audit: 'suppression.create',
    makes: null,
    summary: 'Suppress addresses.',
    description:
      'A repeated address counts once. Addresses that are listed already stay as they are. If one is no address, ' +
      'none is added. A missing list is created. `suppression.created` is not announced.',
    refuses: ['suppression_list_not_found'],
    params: listPath,
    body: z.strictObject({
      addresses: z.array(mailAddress).min(1).max(ADDRESSES_MAX),
      reason: singleLine({ min: 1, max: SUPPRESSION_REASON_LENGTH_MAX }).optional(),
    }),
    output: z.object({ added: z.int(), alreadyListed: z.int() }).meta({ id: 'AddedSuppressions' }),
  }),

  deleteEntry: operation({
    method: 'DELETE',
    path: '/v1/suppressions/{listId}/entries/{address}',
    scope: 'write',
    audit: 'suppression.delete',
    summary: 'Take an address off a suppression list.',
    description: 'Later sends reach it again, unless another list that they consult has it.',
    refuses: ['suppression_list_not_found', 'suppression_entry_not_found'],
    params: listPath.extend({
      address: pathName.describe('1 to 320 characters. Upper and lower case are the same.'),
    }),
    output: z.null(),
  }),
}

export const suppressionReviews = {
  list: operation({
    method: 'GET',
    path: '/v1/suppression-reviews',
    scope: 'read',
    summary: 'List detected opt-outs that wait for a person, newest first.',
    description:
      'While `optOutHandling` is `review`, replies that ask for no more mail wait here; while it is `suppress`, ' +
      'those that are not certain. Automatic replies saying that the person left the address wait in both cases, ' +
      'on the global list.',
    refuses: ['invalid_cursor'],
    query: z.strictObject({
      listId: queryText(1, 63).optional().describe('Only reviews of this list.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(suppressionReview),
  }),

  approve: operation({
    method: 'POST',
    path: '/v1/suppression-reviews/{reviewId}/approve',
    scope: 'write',
    audit: 'suppression_review.approve',
    summary: 'Put the address of a review on its list.',
    description: 'Announces `suppression.created` if the address was not listed. The review is removed.',
    refuses: ['suppression_review_not_found'],
    params: reviewPath,
    output: z
      .object({ added: z.boolean().describe('False if the address was listed already.') })
      .meta({ id: 'ApprovedSuppression' }),
  }),

  dismiss: operation({
    method: 'POST',
    path: '/v1/suppression-reviews/{reviewId}/dismiss',
    scope: 'write',
    audit: 'suppression_review.dismiss',
    summary: 'Remove a review without suppressing its address.',
    description: 'A later detection queues it again.',
    refuses: ['suppression_review_not_found'],
    params: reviewPath,
    output: z.null(),
  }),
}
