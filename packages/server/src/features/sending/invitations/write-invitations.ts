import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import { describe } from '../accepting/accept.ts'
import { enterLargeContents, type LargeContents } from '../accepting/large-contents.ts'
import { type ContentTarget, writeContent, writeDown } from '../accepting/write-content.ts'
import type { WrittenContent } from '../accepting/written-content.ts'
import type { ReachSendPoint } from '../outbox/points.ts'
import { composeInvitation } from './compose-invitation.ts'
import type { InvitationFailures } from './failures.ts'
import { cleanInvitation, type InvitationMail } from './invitation.ts'

export interface InvitationServices {
  accountKeys: AccountKeys
  largeContents: LargeContents
  slicesOf(tenantId: string): InSlices
  reach: ReachSendPoint
  dropped: InvitationFailures['dropped']
}

/** Commits a part before the unit that queues the mails: `step` of a request's context, or a transaction of its own. */
export type Step = <T>(work: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/** A mail whose content is written, but which is not queued yet. */
export interface WrittenInvitation extends Pick<InvitationMail, 'id' | 'from' | 'to' | 'eventId'> {
  /** With angle brackets. */
  internetMessageId: string
  /** Bytes of the whole message. */
  size: number
  content: WrittenContent
}

/** Bytes of contents that are written in the unit that queues them. All others are written before it, as it may hold locks. */
const HELD_BYTES_MAX = 64 * 1024
/** Others get a turn if the mails take longer. */
const TURN_MS_MAX = 20

/**
 * Composes mails, and seals their contents. Call it before the unit in which they are queued. Content of mails that are
 * not queued after all is swept later.
 */
export async function writeInvitations(
  services: InvitationServices,
  account: AccountView,
  mails: Iterable<InvitationMail>,
  step: Step,
): Promise<WrittenInvitation[]> {
  const target: ContentTarget = {
    accountId: account.id,
    sealingOf: services.accountKeys.outboxSealing(account),
    step,
    enterLarge: () => enterLargeContents(services.largeContents, account.tenant_id),
  }
  const written: WrittenInvitation[] = []
  let held: WrittenContent[] = []
  let heldBytes = 0
  let begunAt = performance.now()
  for (const given of mails) {
    if (performance.now() - begunAt > TURN_MS_MAX) {
      await nextTurn()
      begunAt = performance.now()
    }
    const mail = cleanInvitation(given, account.email)
    if (mail.to.length === 0) continue
    await services.reach('content_write', mail.id)
    const { internetMessageId, composed } = await composeInvitation(
      mail,
      services.slicesOf(account.tenant_id),
    )
    const content = await writeContent(composed, target)
    const { id, from, to, eventId } = mail
    const { size } = describe(composed, content)
    written.push({ id, from, to, eventId, internetMessageId, size, content })
    held.push(content)
    heldBytes += content.piece?.length ?? 0
    if (heldBytes > HELD_BYTES_MAX) {
      await writeDown(
        held.filter(({ piece }) => piece !== null),
        target,
      )
      held = []
      heldBytes = 0
    }
    await services.reach('content_written', mail.id)
  }
  return written
}
