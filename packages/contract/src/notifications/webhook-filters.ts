import { z } from 'zod'
import { eventType } from '../events.ts'
import { isMailAddress } from '../mail/address-input.ts'
import { mailboxRole } from '../mail/mailboxes.ts'
import { text, uuid, uuidInput } from '../shapes.ts'

/** Entries of each list of a filter, as they are sent. */
export const FILTER_ENTRIES_MAX = 100
const ADDRESS_CHARACTERS_MAX = 320
const PHRASE_CHARACTERS_MAX = 255

const direction = z.enum(['outbound', 'inbound'])

const described = {
  eventTypes: 'Empty: events of every type, later types included.',
  accountIds: 'Empty: every account. Otherwise events that concern no account are not delivered either.',
  mailboxIds: 'In one of these mailboxes, or in one with a role of `mailboxRoles`.',
  mailboxRoles: 'In a mailbox with one of these roles, or in one of `mailboxIds`.',
  from: 'From one of these: an address, or `@` and a domain, which means exactly that domain.',
  to: 'To one of these in To or Cc, compared like `from`.',
  subjectContains: 'With one of these phrases in the subject.',
  hasAttachments: 'With attachments (true), without (false), or either (null).',
  direction: 'Sent by the account, received, or either (null).',
  message:
    'Narrows the events `message.*` and `send.*`; all others pass. Every criterion that is set must match, by any ' +
    'one of its values. A criterion that an event cannot answer does not match.',
}

export const messageCriteria = z
  .object({
    mailboxIds: z.array(uuid).describe(described.mailboxIds),
    mailboxRoles: z.array(mailboxRole).describe(described.mailboxRoles),
    from: z.array(z.string()).describe(described.from),
    to: z.array(z.string()).describe(described.to),
    subjectContains: z.array(z.string()).describe(described.subjectContains),
    hasAttachments: z.boolean().nullable().describe(described.hasAttachments),
    direction: direction.nullable().describe(described.direction),
  })
  .meta({ id: 'MessageCriteria' })
export type MessageCriteria = z.infer<typeof messageCriteria>

/** Which events an endpoint receives. Always read in full, with `[]` and null for what is not set. */
export const webhookFilters = z
  .object({
    eventTypes: z.array(eventType).describe(described.eventTypes),
    accountIds: z.array(uuid).describe(described.accountIds),
    message: messageCriteria.describe(described.message),
  })
  .meta({ id: 'WebhookFilters' })
export type WebhookFilters = z.infer<typeof webhookFilters>

function listOf<T extends z.ZodType>(entry: T) {
  return z.array(entry).max(FILTER_ENTRIES_MAX, `must have at most ${FILTER_ENTRIES_MAX} entries`).nullish()
}

/** An address or a `@domain`; `x@domain` has the syntax of an address exactly if the domain has that of one. */
const addressOrDomain = z
  .string()
  .max(ADDRESS_CHARACTERS_MAX, `must have at most ${ADDRESS_CHARACTERS_MAX} characters`)
  .refine(
    value => isMailAddress(value.startsWith('@') ? `x${value}` : value),
    'must be an email address such as ada@example.com, or a domain such as @example.com',
  )
  .meta({ maxLength: ADDRESS_CHARACTERS_MAX })

/** Filters in a body. An absent one stays, null clears. */
export const webhookFiltersInput = z
  .strictObject({
    eventTypes: listOf(eventType).describe(described.eventTypes),
    accountIds: listOf(uuidInput).describe(described.accountIds),
    message: z
      .strictObject({
        mailboxIds: listOf(uuidInput).describe(described.mailboxIds),
        mailboxRoles: listOf(mailboxRole).describe(described.mailboxRoles),
        from: listOf(addressOrDomain).describe(described.from),
        to: listOf(addressOrDomain).describe(described.to),
        subjectContains: listOf(text({ min: 1, max: PHRASE_CHARACTERS_MAX })).describe(
          described.subjectContains,
        ),
        hasAttachments: z.boolean().nullish().describe(described.hasAttachments),
        direction: direction.nullish().describe(described.direction),
      })
      .nullish()
      .describe(described.message),
  })
  .meta({ id: 'WebhookFiltersInput' })
export type WebhookFiltersInput = z.infer<typeof webhookFiltersInput>
