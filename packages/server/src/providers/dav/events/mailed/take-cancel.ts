import { requireOverride } from '../edit-part.ts'
import { type EventNode, setValue } from '../event-tree.ts'
import { overrideOf } from '../open-edit.ts'
import { MissingMember } from '../unwritable.ts'
import { isOrganizers, mailedNodes, mainNode, memberNamed, type Taking } from './open-mailed.ts'
import { isNewer, noteRevision, organizersRevision, printStamp, revisionOf, sequenceOf } from './revision.ts'

/** Cancels an event, or members of it, as its organizer says. @returns whether anything was cancelled */
export function takeCancel(taking: Taking): boolean {
  if (!isOrganizers(taking)) return false
  return mailedNodes(taking).filter(node => cancelNamed(taking, node)).length > 0
}

function cancelNamed(taking: Taking, source: EventNode): boolean {
  const { open } = taking
  const member = memberNamed(taking, source)
  if (member === null) return false
  if (member === undefined) {
    if (!isDue(source, mainNode(open)!)) return false
    const nodes = [...(open.master ? [open.master.node] : []), ...open.overrides.map(({ node }) => node)]
    for (const node of nodes) cancel(node, source)
    for (const override of open.overrides)
      if (override.event) override.event = { ...override.event, status: 'cancelled' }
    return true
  }
  const known = overrideOf(open, member)?.node ?? open.master?.node
  if (!known || !isDue(source, known)) return false
  try {
    const node = requireOverride(open, member)
    cancel(node, source)
    return true
  } catch (error) {
    // The series does not have it any more.
    if (error instanceof MissingMember) return false
    throw error
  }
}

/** Some programs end an event in the revision that it has. */
function isDue(source: EventNode, node: EventNode): boolean {
  return !isNewer(organizersRevision(node), revisionOf(source))
}

function cancel(node: EventNode, source: EventNode): void {
  setValue(node, 'STATUS', 'CANCELLED')
  const sequence = sequenceOf(source)
  if (sequence > sequenceOf(node)) setValue(node, 'SEQUENCE', String(sequence))
  const revision = revisionOf(source)
  if (Number.isFinite(revision.stamp)) setValue(node, 'DTSTAMP', printStamp(revision.stamp))
  noteRevision(node, revision)
}
