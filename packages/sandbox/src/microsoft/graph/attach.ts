import type { Attachment, Message } from '../mailbox/message.ts'
import { addAttachment, addOutsideMime } from '../mailbox/draft-content.ts'
import { badRequest } from './errors.ts'
import { objectIn, readMessage, wrongValue } from './message-input.ts'
import type { MethodCall } from './method.ts'
import { writeInput } from './write-input.ts'

/** Attaches what a client wrote as an attachment to a message. */
export function attach(call: MethodCall, message: Message, json: Record<string, unknown>): Attachment {
  const { mailbox } = call
  const type = String(json['@odata.type'] ?? '').toLowerCase()
  const boundary = () => `_000_${call.graph.writing.unique()}_`
  const shared = {
    name: textIn(json, 'name'),
    contentType: textIn(json, 'contentType'),
    contentId: textIn(json, 'contentId') || null,
    isInline: json['isInline'] === true,
  }
  switch (type) {
    case '#microsoft.graph.fileattachment': {
      requireName(shared.name)
      const bytes = bytesIn(json)
      const contentType = shared.contentType || 'application/octet-stream'
      return addAttachment(mailbox, message, { ...shared, kind: 'file', contentType, bytes }, boundary)
    }
    case '#microsoft.graph.itemattachment': {
      const item = objectIn(json['item'], 'item')
      if (/^#?microsoft\.graph\.message$/i.test(String(item['@odata.type'] ?? ''))) {
        const input = readMessage(item)
        const bytes = writeInput(call, input, null)
        const name = shared.name || (input.fields.subject ?? '')
        return addAttachment(
          mailbox,
          message,
          { ...shared, kind: 'item', name, contentType: 'message/rfc822', bytes },
          boundary,
        )
      }
      requireName(shared.name)
      const size = Buffer.byteLength(JSON.stringify(item))
      const modifiedAt = mailbox.now()
      return addOutsideMime(mailbox, message, { ...shared, kind: 'item', mime: null, item, size, modifiedAt })
    }
    case '#microsoft.graph.referenceattachment': {
      requireName(shared.name)
      const sourceUrl = textIn(json, 'sourceUrl')
      if (!/^https?:/i.test(sourceUrl)) throw wrongValue('sourceUrl')
      const modifiedAt = mailbox.now()
      return addOutsideMime(mailbox, message, {
        ...shared,
        kind: 'reference',
        sourceUrl,
        size: 0,
        modifiedAt,
      })
    }
    default:
      throw badRequest(
        'An attachment needs the @odata.type of fileAttachment, itemAttachment or referenceAttachment.',
        'ErrorInvalidRequest',
      )
  }
}

function requireName(name: string): void {
  if (name === '') throw badRequest('The attachment has no name.', 'ErrorInvalidProperty')
}

function textIn(json: Record<string, unknown>, name: string): string {
  const value = json[name]
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw wrongValue(name)
  return value
}

function bytesIn(json: Record<string, unknown>): Buffer {
  const text = textIn(json, 'contentBytes')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw wrongValue('contentBytes')
  return Buffer.from(text, 'base64')
}
