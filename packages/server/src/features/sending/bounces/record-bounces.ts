import { GLOBAL_LIST } from '@waxwing/contract/sending/suppressions.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { NewSuppression } from '../suppressions/record-suppressed.ts'
import type { BounceType, Judgement } from './rules.ts'
import type { SendFacts } from './store.ts'

/** A recipient that a send did not reach. */
export interface BouncedRecipient extends Judgement {
  /** As addresses are compared. */
  address: string
  diagnostic: string
}

export interface Bounced {
  send: SendFacts
  recipients: readonly BouncedRecipient[]
}

/** Number of recipients that were announced, by type. */
export type BounceCounts = Record<BounceType, number>

/** Addresses that are to be suppressed, and the counts of announced events. */
export interface RecordedBounces {
  suppressions: NewSuppression[]
  counts: BounceCounts
}

/**
 * Records and announces recipients that sends did not reach: each once for its send, even if more reports follow. A
 * later report of an address that does not exist still suppresses it. The caller suppresses, once for everything in its
 * transaction.
 */
export async function recordBounces(unit: UnitOfWork, bounced: readonly Bounced[]): Promise<RecordedBounces> {
  const all = bounced.flatMap(({ send, recipients }) => recipients.map(recipient => ({ send, ...recipient })))
  const counts = { hard: 0, soft: 0 }
  if (all.length === 0) return { suppressions: [], counts }
  const { rows } = await sql<{ outbox_id: string; address: string }>`
    insert into bounce (outbox_id, address, account_id, type)
    select * from unnest(
      ${all.map(({ send }) => send.outboxId)}::uuid[], ${all.map(({ address }) => address)}::text[],
      ${all.map(({ send }) => send.accountId)}::uuid[], ${all.map(({ type }) => type)}::text[]
    ) as bounced (outbox_id, address, account_id, type)
    order by 1, 2
    on conflict do nothing returning outbox_id, address
  `.execute(unit.sql)
  const news = new Set(rows.map(row => `${row.outbox_id} ${row.address}`))
  for (const { send, recipients } of bounced) {
    const fresh = recipients.filter(({ address }) => news.has(`${send.outboxId} ${address}`))
    for (const type of ['hard', 'soft'] as const) {
      const ofType = fresh.filter(recipient => recipient.type === type)
      counts[type] += ofType.length
      if (ofType.length > 0) announce(unit, send, type, ofType)
    }
  }
  return { suppressions: bounced.flatMap(toSuppressions), counts }
}

function announce(
  unit: UnitOfWork,
  { outboxId, accountId, messageId, reference, recipients: sentTo }: SendFacts,
  bounceType: BounceType,
  recipients: readonly BouncedRecipient[],
): void {
  unit.announce({
    type: 'message.bounced',
    accountId,
    data: {
      outboxId,
      messageId,
      reference,
      bounceType,
      recipients: recipients.map(({ address, status, diagnostic }) => ({
        address: sentTo.get(address) ?? address,
        status,
        diagnostic,
      })),
    },
  })
}

/** The addresses that do not exist, for the global list. */
export function toSuppressions({ send, recipients }: Bounced): NewSuppression[] {
  const { accountId, outboxId } = send
  return recipients.flatMap(({ address, status, diagnostic, suppresses }) =>
    suppresses
      ? [
          {
            listId: GLOBAL_LIST,
            address,
            source: 'bounce',
            reason: diagnostic.includes(status) ? diagnostic : `${status} ${diagnostic}`.trim(),
            accountId,
            outboxId,
          },
        ]
      : [],
  )
}
