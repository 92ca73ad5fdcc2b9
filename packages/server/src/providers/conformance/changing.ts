import type { ChangingArrangement } from './arrangement.ts'
import { describeChangedFlags, describeRenumberedChanges } from './changing-flags.ts'
import { describeChangedMailboxes } from './changing-mailboxes.ts'
import { describeAddedMessages, describeAnyAddedMessage } from './changing-messages.ts'
import { describeMarkedMessages, describeMovedMessages } from './changing-moves.ts'

/** Contract of every `ChangingProvider` whose mailboxes are folders. */
export function describeChanging(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describeChangedFlags(name, setUp)
  describeMovedMessages(name, setUp)
  describeChangedMailboxes(name, setUp)
  describeAddedMessages(name, setUp)
}

/** The contract where folders number their messages, mark those that are to go, and take in any message as it is. */
export function describeNumberedChanging(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describeRenumberedChanges(name, setUp)
  describeMarkedMessages(name, setUp)
  describeAnyAddedMessage(name, setUp)
}
