import { type EventNode, type Property, propertiesOf, propertyOf } from '../event-tree.ts'
import { type OpenEvent, removeOverrides } from '../open-edit.ts'
import { isOver } from './is-over.ts'
import { cleanPeople, setInvited } from './merge.ts'
import { keepEventsFor } from './open-mailed.ts'
import { noteRevision, revisionOf } from './revision.ts'

/**
 * Turns the calendar object of a mail into the file of an invitation: without METHOD (RFC 4791 section 4.1), components of other
 * kinds, alarms of the organizer, and events that are not for the account. Nothing is left of an event that is over.
 */
export function becomeInvitation(open: OpenEvent, own: ReadonlySet<string>): void {
  keepEventsFor(open, { method: 'request', own })
  removeOverrides(open, ({ event }) => event === null)
  if (isOver(open)) {
    open.master = null
    removeOverrides(open, () => true)
    return
  }
  const { tree, calendar, master } = open
  const nodes = [...(master ? [master.node] : []), ...open.overrides.map(({ node }) => node)]
  const kept = new Set<Property | EventNode>(nodes)
  calendar.items = calendar.items.filter(item =>
    item.type === 'property'
      ? item.content !== null && item.content.name !== 'METHOD'
      : kept.has(item) || item.name === 'VTIMEZONE',
  )
  for (const [name, value] of Object.entries({ PRODID: '-//Waxwing//Calendar//EN', VERSION: '2.0' }))
    if (propertiesOf(calendar, name).length === 0) calendar.items.unshift(propertyOf(`${name}:${value}`))
  for (const node of nodes) {
    node.items = node.items.filter(item =>
      item.type === 'property' ? item.content !== null : item.name !== 'VALARM',
    )
    cleanPeople(node)
    setInvited(node, own)
    noteRevision(node, revisionOf(node))
  }
  tree.items = [calendar]
}
