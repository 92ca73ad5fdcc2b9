import type { FollowMailOptions } from './follow-options.ts'
import { findGap } from './gap.ts'
import type { PassOutcome } from './pass.ts'
import type { Session } from './session.ts'

/** Reports an account whose mail was read to its end, with the way in which it is watched and its gap. */
export async function reportCaughtUp(
  session: Session,
  { sources, unreadable }: Pick<PassOutcome, 'sources' | 'unreadable'>,
  options: Pick<FollowMailOptions, 'report' | 'provider' | 'verification' | 'pollSeconds'>,
): Promise<void> {
  const { report, provider, verification } = options
  const { openCount } = verification
  report.gap = await findGap(session, sources)
  if (openCount > 0) {
    await report.tell(
      'syncing',
      `the index differs from the provider in ${openCount} messages, which are repaired`,
    )
    return
  }
  const push = provider.watchesAll
    ? 'all mailboxes are watched'
    : provider.isPushed
      ? 'the inbox is watched'
      : 'the inbox is polled'
  const facts = [
    provider.pushProblem ? `${push}, since ${provider.pushProblem}` : push,
    `every mailbox is looked at within ${passSeconds(options)} s`,
  ]
  if (unreadable > 0) facts.push(`${unreadable} messages could not be read and are tried again`)
  const leftOut = provider.mailboxesLeftOut
  if (leftOut > 0)
    facts.push(
      `${leftOut} ${leftOut === 1 ? 'mailbox' : 'mailboxes'} could not be taken in: too many, too large, or with names too long`,
    )
  if (session.doubts.count > 0)
    facts.push(
      `${session.doubts.count} mailboxes seem to have been emptied or deleted, and are asked until that is sure`,
    )
  await report.tell('live', facts.join('; '))
}

/** The longest time between two passes over all mailboxes. */
export function passSeconds({
  provider,
  pollSeconds,
}: Pick<FollowMailOptions, 'provider' | 'pollSeconds'>): number {
  return pollSeconds * (provider.passFactor ?? 1)
}
