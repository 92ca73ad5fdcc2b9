import { markMissing, markUnrecognised } from '../messages/record-missing.ts'
import { recordStates } from '../messages/record-states.ts'
import type { FollowedSource } from '../messages/rules.ts'
import type { Cursor, KnownMessages, MessageKey, ResetStep, StatesStep } from '../../../providers/mail.ts'
import { changedKeysIn, listLastingChanges, lookAgain, withoutChanged } from './changed-keys.ts'
import { changesOf, recordPage } from './record-page.ts'
import { ChangedMeanwhile, followOptions, recordCursor, type Session, underFence } from './session.ts'
import { clearSuspicion, findCursor } from './source-store.ts'

const ROWS_PER_TRANSACTION = 500
const MISSING_PER_TRANSACTION = 5_000

/**
 * Brings changes of a source's indexed messages into the index: flags, mailboxes, messages that are gone (they are
 * missing from then on), and whether the source was reset. Each page of a change log commits with its cursor. The
 * cursor of single steps is stored last: after a crash in between, the comparison runs again and finds the rest.
 */
export async function compareSource(
  session: Session,
  followed: FollowedSource,
  { isThorough = false }: { isThorough?: boolean } = {},
): Promise<void> {
  const [changed, atOnce] = await Promise.all([
    listLastingChanges(session, followed),
    followOptions(session, followed),
  ])
  await lookAgain(session, followed, changed)
  const options = changed.length === 0 ? atOnce : await followOptions(session, followed)
  let known: KnownMessages | undefined
  const gone: MessageKey[] = []
  let cursor: Cursor | undefined
  const steps = session.provider.compare(followed.source, {
    ...options,
    isThorough,
    known: async () => (known ??= await options.known()),
  })
  for await (const step of steps) {
    session.progressed()
    if (step.type === 'page') {
      await recordPage(session, followed, step)
      continue
    }
    cursor = step.cursor
    if (step.type === 'reset') await recordReset(session, followed, step, options.cursor)
    else if (step.type === 'states') await recordStatesStep(session, followed, step)
    else if (step.type === 'gone') gone.push(...step.keys)
  }
  if (!cursor) return
  const lost = await withoutChanged(session.db, session, followed, gone)
  if (!session.doubts.believes(`comparing ${followed.source}`, lost.length, known?.keys.length ?? 0)) {
    session.log.warn(
      { mailboxId: followed.mailboxes[0]?.id, count: lost.length },
      'Not yet believed that messages are gone',
    )
    return
  }
  await recordGone(session, followed, lost)
  const last = cursor
  await underFence(session, unit => recordCursor(unit, session, followed, last))
}

/**
 * @param former the cursor under which the source was compared
 * @throws ChangedMeanwhile if the interface has given a source its first cursor since: its keys are not void
 */
async function recordReset(
  session: Session,
  followed: FollowedSource,
  step: ResetStep,
  former: Cursor | null,
): Promise<void> {
  session.log.debug({ mailboxId: followed.mailboxes[0]?.id }, 'Reading a source again')
  await underFence(session, async (unit, account) => {
    if (former === null && (await findCursor(unit.sql, account.id, followed.source)) !== null)
      throw new ChangedMeanwhile()
    await markUnrecognised(unit, account, followed, step.keys)
    await recordCursor(unit, session, followed, step.cursor)
    if (step.keys === 'void') await clearSuspicion(unit, account.id, followed.source, null)
  })
}

async function recordStatesStep(session: Session, followed: FollowedSource, step: StatesStep): Promise<void> {
  for (let at = 0; at < step.changes.length; at += ROWS_PER_TRANSACTION) {
    const changes = changesOf(session, step.changes.slice(at, at + ROWS_PER_TRANSACTION))
    await underFence(session, async (unit, account) => {
      const changed = await changedKeysIn(unit.sql, session, followed)
      const recorded = changes.filter(({ key }) => !changed.has(key))
      await recordStates(unit, account, followed, recorded)
    })
    session.progressed()
  }
}

async function recordGone(
  session: Session,
  followed: FollowedSource,
  gone: readonly MessageKey[],
): Promise<void> {
  for (let at = 0; at < gone.length; at += MISSING_PER_TRANSACTION) {
    const keys = gone.slice(at, at + MISSING_PER_TRANSACTION)
    await underFence(session, async (unit, account) =>
      markMissing(unit, account, followed, await withoutChanged(unit.sql, session, followed, keys)),
    )
    session.progressed()
  }
}
