import type { Parameter } from '../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../kit/content-lines/print-line.ts'
import { escapeText } from '../../../kit/content-lines/text-value.ts'
import { htmlToText } from '../../../kit/mime/html-to-text.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { WritableFields } from '../../changing-calendars.ts'
import {
  type EventNode,
  newProperty,
  propertiesOf,
  replaceProperties,
  setValue,
  viewOf,
  without,
} from './event-tree.ts'
import { MEETING_PROPERTIES } from './online-meeting.ts'
import { wordOf } from './event-file.ts'
import { UnheldChange } from './unwritable.ts'

/* The fields of an event that are one text, or one word. */

const ALTERNATIVES = (parameters: readonly Parameter[]) => without(parameters, 'ALTREP')

export function setSubject(node: EventNode, subject: string | null): void {
  setText(node, 'SUMMARY', inOneLine(subject))
}

/** Apple's place on the map is one of the location before. */
export function setLocation(node: EventNode, location: string | null): void {
  setText(node, 'LOCATION', inOneLine(location))
  replaceProperties(node, propertiesOf(node, 'X-APPLE-STRUCTURED-LOCATION'), [])
}

function setText(node: EventNode, name: string, text: string | null): void {
  setValue(node, name, text === null ? null : escapeText(withPlainBreaks(text)), ALTERNATIVES)
}

/** Separators of lines and paragraphs as line breaks, since some readers take them for the end of a content line. */
const withPlainBreaks = (text: string): string => text.replaceAll(/[\u2028\u2029]/g, '\n')
const inOneLine = (text: string | null): string | null => text && text.replaceAll(/[\u2028\u2029]/g, ' ')

/** Outlook and the RFC have a property of their own for HTML, and others show the text beside it. */
export function setBody(node: EventNode, body: WritableFields['body']): void {
  const styled = propertiesOf(node, 'X-ALT-DESC', 'STYLED-DESCRIPTION')
  const text = body?.contentType === 'html' ? htmlToText(body.content) : (body?.content ?? null)
  setText(node, 'DESCRIPTION', text)
  if (body?.contentType !== 'html') return replaceProperties(node, styled, [])
  const parameters = [makeParameter('FMTTYPE', ['text/html'])]
  const line = { rawName: 'X-ALT-DESC', parameters, value: escapeText(withPlainBreaks(body.content)) }
  replaceProperties(node, styled, [newProperty(line)], ['DESCRIPTION'])
}

/** Takes the place of every property that names a meeting. Links in texts stay. */
export function setMeetingUrl(node: EventNode, url: string | null): void {
  const before = propertiesOf(node, ...MEETING_PROPERTIES)
  const parameters = [makeParameter('VALUE', ['URI']), makeParameter('FEATURE', ['VIDEO'])]
  const line = url === null ? [] : [newProperty({ rawName: 'CONFERENCE', parameters, value: url })]
  replaceProperties(node, before, line)
}

const BUSY_STATUSES: Readonly<Record<WritableFields['showAs'], string>> = {
  free: 'FREE',
  busy: 'BUSY',
  tentative: 'TENTATIVE',
  oof: 'OOF',
  working_elsewhere: 'WORKINGELSEWHERE',
}

/** TRANSP is what others read; Outlook's status has the rest. */
export function setShowAs(node: EventNode, showAs: WritableFields['showAs']): void {
  const isFree = showAs === 'free' || showAs === 'working_elsewhere'
  const before = wordOf(viewOf(node), 'TRANSP')
  if (before !== '' || isFree) setValue(node, 'TRANSP', isFree ? 'TRANSPARENT' : 'OPAQUE')
  const hasStatus = propertiesOf(node, BUSY_STATUS).length > 0
  const isPlain = showAs === 'free' || showAs === 'busy'
  if (hasStatus || !isPlain) setValue(node, BUSY_STATUS, BUSY_STATUSES[showAs])
}

const BUSY_STATUS = 'X-MICROSOFT-CDO-BUSYSTATUS'

const CLASSES: Readonly<Record<Exclude<RemoteEvent['sensitivity'], 'personal'>, string>> = {
  normal: 'PUBLIC',
  private: 'PRIVATE',
  confidential: 'CONFIDENTIAL',
}

export function setSensitivity(node: EventNode, sensitivity: RemoteEvent['sensitivity']): void {
  if (sensitivity === 'personal') throw new UnheldChange('A calendar file has no personal events.')
  const hasClass = propertiesOf(node, 'CLASS').length > 0
  if (hasClass || sensitivity !== 'normal') setValue(node, 'CLASS', CLASSES[sensitivity])
}
