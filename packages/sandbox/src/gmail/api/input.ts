import type { Mailbox } from '../mailbox/mailbox.ts'
import type { MethodCall } from './method.ts'
import { invalidArgument } from '../../google/api/refusal.ts'
import { stringIn, stringsIn } from '../../google/api/input.ts'

/** The message of a call: what was uploaded, or `raw` of the body. */
export function messageIn(call: MethodCall, message: Record<string, unknown>): Buffer {
  if (call.media) return call.media
  const raw = stringIn(message, 'raw')
  if (!raw)
    throw invalidArgument(
      "'raw' RFC822 payload message string or uploading message via /upload/* URL required",
    )
  if (!/^[A-Za-z0-9_+/-]*={0,2}$/.test(raw))
    throw invalidArgument(
      `Invalid value at 'message.raw' (TYPE_BYTES), Base64 decoding failed for "${raw.slice(0, 40)}"`,
    )
  return Buffer.from(raw, 'base64url')
}

const LABEL_CHANGES_MAX = 100

/** The labels to add and to remove, all of which exist. */
export function labelChangesIn(
  mailbox: Mailbox,
  body: Record<string, unknown>,
): { add: string[]; remove: string[] } {
  const add = stringsIn(body, 'addLabelIds')
  const remove = stringsIn(body, 'removeLabelIds')
  if (add.length + remove.length === 0) throw invalidArgument('No label add or removes specified')
  if (add.length > LABEL_CHANGES_MAX || remove.length > LABEL_CHANGES_MAX)
    throw invalidArgument(`Too many labels: at most ${LABEL_CHANGES_MAX} can be added or removed`)
  requireLabels(mailbox, [...add, ...remove])
  if (add.some(label => remove.includes(label)))
    throw invalidArgument('Cannot both add and remove the same label')
  return { add, remove }
}

export function requireLabels(mailbox: Mailbox, labels: string[]): void {
  for (const label of labels) if (!mailbox.labels.has(label)) throw invalidArgument(`Invalid label: ${label}`)
}
