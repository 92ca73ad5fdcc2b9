import { type ContentLine, parameterOf } from '../../../../kit/content-lines/content-line.ts'
import { makeParameter, type WritableLine } from '../../../../kit/content-lines/print-line.ts'
import { ownLines } from '../edit-attendees.ts'
import {
  type EventNode,
  newProperty,
  type Property,
  propertiesOf,
  replaceProperties,
  without,
} from '../event-tree.ts'
import { noteRevision, OWN_PARAMETER, revisionOf } from './revision.ts'

/** Properties that are the attendee's own, once the file has them. */
const OWN_PROPERTIES: ReadonlySet<string> = new Set([
  'UID',
  'TRANSP',
  'CLASS',
  'COMMENT',
  'X-MICROSOFT-CDO-BUSYSTATUS',
  'X-MICROSOFT-CDO-INTENDEDSTATUS',
])
/** Properties by which a member differs from its series in any case. */
export const MEMBER_PROPERTIES: ReadonlySet<string> = new Set([
  'DTSTART',
  'DTEND',
  'DURATION',
  'RECURRENCE-ID',
  'RRULE',
  'EXRULE',
  'RDATE',
  'EXDATE',
])

const NEEDS_ACTION = 'NEEDS-ACTION'
const RESPONSES: ReadonlySet<string> = new Set(['ACCEPTED', 'TENTATIVE', 'DECLINED'])

/** A component of another file. Malformed lines, alarms and parameters of ours are left out. */
export function importNode({ name, items }: EventNode): EventNode {
  const border = (word: string): WritableLine => ({ rawName: word, parameters: [], value: name })
  return {
    type: 'component',
    name,
    begin: border('BEGIN'),
    end: border('END'),
    items: items.flatMap<Property | EventNode>(item => {
      if (item.type === 'property') return item.content ? [importProperty(item.content)] : []
      return item.name === 'VALARM' ? [] : [importNode(item)]
    }),
  }
}

function importProperty({ rawName, parameters, value }: ContentLine): Property {
  return newProperty({ rawName, parameters: withoutOwn(parameters), value })
}

/** Takes parameters of ours from the people of a component. */
export function cleanPeople(node: EventNode): void {
  for (const name of ['ORGANIZER', 'ATTENDEE']) {
    const before = propertiesOf(node, name)
    replaceProperties(
      node,
      before,
      before.map(property => {
        const kept = withoutOwn(property.content.parameters)
        return kept.length === property.content.parameters.length
          ? property
          : importProperty(property.content)
      }),
    )
  }
}

const withoutOwn = (parameters: ContentLine['parameters']) =>
  parameters.filter(({ name }) => !OWN_PARAMETER.test(name ?? ''))

export interface Merging {
  own: ReadonlySet<string>
  /** Whether the account's response still counts. */
  keepsResponse: boolean
  /** Properties that stay as they are. */
  staying?: ReadonlySet<string>
}

/**
 * Brings a component of a file to one of a mail: properties of the organizer are replaced one by one. Alarms, other
 * properties of the attendee, and extensions that the mail lacks stay.
 */
export function mergeInto(
  node: EventNode,
  mailed: EventNode,
  { own, keepsResponse, staying }: Merging,
): void {
  const response = responseOf(node, own)
  const source = importNode(mailed)
  for (const name of new Set([...namesOf(node), ...namesOf(source)])) {
    const before = propertiesOf(node, name)
    if (staying?.has(name) || (OWN_PROPERTIES.has(name) && before.length > 0)) continue
    const after = propertiesOf(source, name)
    if (after.length > 0 || !name.startsWith('X-')) replaceProperties(node, before, after)
  }
  const isOwn = (item: EventNode['items'][number]) => item.type === 'property' || item.name === 'VALARM'
  node.items = [...node.items.filter(isOwn), ...source.items.filter(item => item.type === 'component')]
  setInvited(node, own, keepsResponse ? response : NEEDS_ACTION)
  noteRevision(node, revisionOf(mailed))
}

const namesOf = ({ items }: EventNode): string[] =>
  items.flatMap(item => (item.type === 'property' && item.content ? [item.content.name] : []))

/** The account's response; `NEEDS-ACTION` if it has none. */
function responseOf(node: EventNode, own: ReadonlySet<string>): string {
  const [line] = ownLines(node, own)
  const response = line && parameterOf(line.content, 'PARTSTAT')?.toUpperCase()
  return response !== undefined && RESPONSES.has(response) ? response : NEEDS_ACTION
}

/** Sets the account's response, whatever response the mail has. */
export function setInvited(node: EventNode, own: ReadonlySet<string>, response = NEEDS_ACTION): void {
  const mine = new Set<Property>(ownLines(node, own))
  const before = propertiesOf(node, 'ATTENDEE')
  const after = before.map(property => {
    const { rawName, parameters, value } = property.content
    if (!mine.has(property)) return property
    const asked = response === NEEDS_ACTION ? [makeParameter('RSVP', ['TRUE'])] : []
    const kept = without(parameters, 'PARTSTAT', 'RSVP')
    return newProperty({
      rawName,
      parameters: [...kept, makeParameter('PARTSTAT', [response]), ...asked],
      value,
    })
  })
  replaceProperties(node, before, after)
}
