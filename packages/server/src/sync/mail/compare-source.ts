import { markMissing, markRenumbered } from '../../features/mail/messages/record-missing.ts'
import { recordFlags } from '../../features/mail/messages/record-flags.ts'
import type { Cursor, KnownMessages, SourceStep } from '../../providers/mail.ts'
import { type FollowedSource, followOptions, type Session, underFence } from './session.ts'
import { storeCursor } from './source-store.ts'

const ROWS_PER_TRANSACTION = 500
const MISSING_PER_TRANSACTION = 5_000

/**
 * Brings what became of the indexed messages of a source into the index: flags, messages that are gone (they are
 * missing from then on), or that the source was renumbered. The cursor is stored last: after a crash in between, the
 * comparison runs again and finds the rest.
 */
export async function compareSource(session: Session, followed: FollowedSource): Promise<void> {
  const options = await followOptions(session, followed)
  let known: KnownMessages | undefined
  const gone: number[] = []
  let cursor: Cursor | undefined
  const steps = session.provider.compare(followed.source, {
    ...options,
    known: async () => (known ??= await options.known()),
  })
  for await (const step of steps) {
    session.progressed()
    cursor = step.cursor
    if (step.type === 'reset') await recordReset(session, followed, step)
    else if (step.type === 'flags') await recordFlagStep(session, followed, step)
    else if (step.type === 'gone') for (const key of step.keys) gone.push(Number(key))
  }
  if (!session.doubts.believes(`comparing ${followed.source}`, gone.length, known?.keys.length ?? 0)) {
    session.log.warn(
      { mailboxId: followed.mailbox.id, count: gone.length },
      'Not yet believed that messages are gone',
    )
    return
  }
  await recordGone(session, followed, gone)
  if (cursor) await underFence(session, unit => storeCursor(unit, session.owned.id, followed.source, cursor))
}

async function recordReset(
  session: Session,
  { source, mailbox }: FollowedSource,
  step: SourceStep,
): Promise<void> {
  session.log.debug({ mailboxId: mailbox.id }, 'Mailbox is read anew')
  await underFence(session, async unit => {
    await markRenumbered(unit, mailbox.id)
    await storeCursor(unit, session.owned.id, source, step.cursor)
  })
}

async function recordFlagStep(
  session: Session,
  { mailbox }: FollowedSource,
  step: Extract<SourceStep, { type: 'flags' }>,
): Promise<void> {
  for (let at = 0; at < step.changes.length; at += ROWS_PER_TRANSACTION) {
    const changes = step.changes.slice(at, at + ROWS_PER_TRANSACTION)
    await underFence(session, (unit, account) =>
      recordFlags(
        unit,
        account,
        mailbox,
        changes.map(({ key, flags }) => ({ uid: Number(key), flags })),
      ),
    )
    session.progressed()
  }
}

async function recordGone(
  session: Session,
  { mailbox }: FollowedSource,
  gone: readonly number[],
): Promise<void> {
  for (let at = 0; at < gone.length; at += MISSING_PER_TRANSACTION) {
    await underFence(session, (unit, account) =>
      markMissing(unit, account, mailbox.id, gone.slice(at, at + MISSING_PER_TRANSACTION)),
    )
    session.progressed()
  }
}
