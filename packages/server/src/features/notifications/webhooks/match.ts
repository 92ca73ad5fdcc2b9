import type { EventData, EventType } from '@waxwing/contract/events.ts'
import type { MessageCriteria, WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { comparedParty, comparedText } from './compared.ts'

/** An event, with the facts that criteria compare. Made once for an event, it serves the filters of all endpoints. */
export interface EventFacts {
  readonly type: EventType
  readonly accountId: string | null
  /** Null if criteria do not concern events of this type: they pass. */
  readonly message: MessageFacts | null
}

/** Facts about the message of an event, for criteria. An unknown fact is null, which matches no criterion. */
interface MessageFacts {
  mailboxIds: readonly string[]
  mailboxRoles: readonly string[]
  from: string | null
  to: readonly string[]
  subject: string | null
  hasAttachments: boolean | null
  direction: 'inbound' | 'outbound' | null
}

/** The filters of an endpoint, prepared for many events. */
export interface EventMatcher {
  /** Decides by the type and the account: true passes, false does not, null leaves it to the data. */
  judge(type: EventType, accountId: string | null): boolean | null
  /** Decides by the event alone, not by the present state of its messages and mailboxes. */
  matches(event: EventFacts): boolean
}

export function compileFilters({ eventTypes, accountIds, message }: WebhookFilters): EventMatcher {
  const types = eventTypes.length > 0 ? new Set(eventTypes) : null
  const accounts = accountIds.length > 0 ? new Set(accountIds) : null
  const criteria = compileCriteria(message)
  const judge = (type: EventType, accountId: string | null) => {
    if (types && !types.has(type)) return false
    if (accounts && (accountId === null || !accounts.has(accountId))) return false
    return criteria.length === 0 || !isNarrowed(type) ? true : null
  }
  return {
    judge,
    matches(event) {
      const { message: facts } = event
      return (
        judge(event.type, event.accountId) ??
        (facts !== null && criteria.every(criterion => criterion(facts)))
      )
    },
  }
}

/** Reads an event for `matches`. Its data is read only if a criterion needs it. */
export function eventFacts(event: { type: EventType; accountId: string | null; data: unknown }): EventFacts {
  let message: MessageFacts | null | undefined
  return {
    type: event.type,
    accountId: event.accountId,
    get message() {
      return (message ??= readMessage(event.type, event.data))
    },
  }
}

type Criterion = (facts: MessageFacts) => boolean

function compileCriteria(criteria: MessageCriteria): Criterion[] {
  const { mailboxIds, mailboxRoles, from, to, subjectContains, hasAttachments, direction } = criteria
  const compiled: Criterion[] = []
  if (mailboxIds.length > 0 || mailboxRoles.length > 0) {
    const ids = new Set(mailboxIds)
    const roles = new Set<string>(mailboxRoles)
    compiled.push(
      facts => facts.mailboxIds.some(id => ids.has(id)) || facts.mailboxRoles.some(role => roles.has(role)),
    )
  }
  if (from.length > 0) {
    const isListed = compileParties(from)
    compiled.push(facts => facts.from !== null && isListed(facts.from))
  }
  if (to.length > 0) {
    const isListed = compileParties(to)
    compiled.push(facts => facts.to.some(isListed))
  }
  if (subjectContains.length > 0) {
    const phrases = subjectContains.map(comparedText)
    compiled.push(({ subject }) => subject !== null && phrases.some(phrase => subject.includes(phrase)))
  }
  if (hasAttachments !== null) compiled.push(facts => facts.hasAttachments === hasAttachments)
  if (direction !== null) compiled.push(facts => facts.direction === direction)
  return compiled
}

/** Listed are addresses, and domains with `@` before them. */
function compileParties(listed: readonly string[]): (address: string) => boolean {
  const parties = new Set(listed.map(comparedParty))
  return address => parties.has(address) || parties.has(address.slice(address.lastIndexOf('@')))
}

const NARROWED = /^(?:message|send)\./

function isNarrowed(type: EventType): boolean {
  return NARROWED.test(type)
}

const OUTBOUND: MessageFacts = {
  mailboxIds: [],
  mailboxRoles: [],
  from: null,
  to: [],
  subject: null,
  hasAttachments: null,
  direction: 'outbound',
}

/** The events of a purged account have no data any more, and match nothing. */
function readMessage(type: EventType, data: unknown): MessageFacts | null {
  switch (type) {
    case 'message.created':
    case 'message.updated':
    case 'message.deleted':
    case 'message.classified':
      return factsOfMessage(data as Emptied<'message.created'>)
    case 'message.bounced': {
      const { recipients = [] } = data as Emptied<'message.bounced'>
      return { ...OUTBOUND, to: recipients.map(({ address }) => comparedParty(address)) }
    }
    case 'message.opened':
    case 'message.clicked': {
      const { recipient = null } = data as Emptied<'message.opened'>
      return { ...OUTBOUND, to: recipient === null ? [] : [comparedParty(recipient)] }
    }
    default:
      return isNarrowed(type) ? OUTBOUND : null
  }
}

/** The service wrote it by the schema of its type, unless it was emptied. */
type Emptied<T extends EventType> = Partial<EventData<T>>

function factsOfMessage({ message, mailboxes = [] }: Emptied<'message.created'>): MessageFacts {
  if (!message) return { ...OUTBOUND, direction: null }
  return {
    mailboxIds: message.mailboxIds,
    mailboxRoles: mailboxes.map(({ role }) => role),
    from: message.from && comparedParty(message.from.address),
    to: [...message.to, ...message.cc].map(({ address }) => comparedParty(address)),
    subject: message.subject === null ? null : comparedText(message.subject),
    hasAttachments: message.hasAttachments,
    direction: message.direction,
  }
}
