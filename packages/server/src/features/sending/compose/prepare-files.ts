import { ATTACHED_BYTES_MAX } from '@waxwing/contract/sending/send-body.ts'
import { countsAsAttachment } from '../../../kit/mime/part-role.ts'
import {
  type Entity,
  fileEntity,
  messageEntity,
  newBoundary,
  readSegments,
  type Segment,
} from '../../../kit/mime-writing/entity.ts'
import { refitMessage, staysBeyondAscii, surveyMessage } from '../../../kit/mime-writing/refit.ts'
import { UnwalkableMessage } from '../../../kit/mime-writing/walk-message.ts'
import { AttachmentChanged, AttachmentsTooLarge, type AttachedFile, writableTraits } from './attached.ts'

/** Files to attach to one or several messages, whose bytes are the same in all of them. */
export interface PreparedFiles {
  files: readonly AttachedFile[]
  /** The length of each file. */
  entities: readonly Entity[]
  hasAttachments: boolean
  boundaries: Record<'related' | 'mixed', string>
  /** Reads pieces of a message that has the files. Each reading counts its bytes from the beginning. */
  read(segments: readonly Segment[]): AsyncGenerator<Buffer>
}

/** Prepares files to be attached. An attached message is read here once, to see whether it can be sent as it is. */
export async function prepareFiles(attachments: readonly AttachedFile[]): Promise<PreparedFiles> {
  const reading = { allowance: newAllowance() }
  const files = attachments.map(file => ({
    ...writableTraits(file),
    byteLength: file.byteLength,
    open: () => file.open(),
  }))
  const entities = await attachAll(files, reading)
  return {
    files,
    entities,
    hasAttachments: files.some(isCounted),
    boundaries: { related: newBoundary(), mixed: newBoundary() },
    async *read(segments) {
      reading.allowance = newAllowance()
      yield* readSegments(segments)
    },
  }
}

function isCounted({ contentType, filename, contentId, isInline }: AttachedFile): boolean {
  const disposition = isInline ? 'inline' : 'attachment'
  return countsAsAttachment(
    {
      type: contentType.toLowerCase(),
      disposition,
      hasFileName: filename !== null,
      hasContentId: contentId !== null,
    },
    { parent: 'multipart/mixed', isFirst: false, isInAlternative: false, isAfterText: true },
  )
}

interface Reading {
  allowance: Allowance
}

/** Bytes that the attachments of one reading may still take together. */
interface Allowance {
  left: number
}

function newAllowance(): Allowance {
  return { left: ATTACHED_BYTES_MAX }
}

/** @throws AttachmentsTooLarge, AttachmentChanged */
async function* counted(file: AttachedFile, allowance: Allowance): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of file.open()) {
    bytes += piece.length
    allowance.left -= piece.length
    if (allowance.left < 0) throw new AttachmentsTooLarge('The attachments are over the limit')
    yield piece
  }
  if (file.byteLength !== null && bytes !== file.byteLength)
    throw new AttachmentChanged('An attachment has another length than it had before')
}

async function attachAll(files: readonly AttachedFile[], reading: Reading): Promise<Entity[]> {
  const entities: Entity[] = []
  for (const file of files) {
    const attached = isMessage(file) ? await attachMessage(file, reading) : null
    entities.push(attached ?? attachFile(file, reading))
  }
  return entities
}

function isMessage({ contentType }: AttachedFile): boolean {
  return contentType.toLowerCase() === 'message/rfc822'
}

/** A message that cannot stand within a message keeps its bytes, as a file of no known type. */
function attachFile(file: AttachedFile, reading: Reading): Entity {
  const traits = isMessage(file) ? { ...file, contentType: 'application/octet-stream' } : file
  return fileEntity(traits, file.byteLength, () => counted(file, reading.allowance))
}

/** RFC 2046 section 5.2.1 allows no base64 here. Null if the message is not fit for that. */
async function attachMessage(file: AttachedFile, reading: Reading): Promise<Entity | null> {
  try {
    const survey = await surveyMessage(counted(file, reading.allowance))
    if (survey.isHopeless) return null
    const options = { allows8Bit: false }
    // Its header becomes part of the body of the message to which it is attached.
    const is8Bit = survey.has8BitHeader || staysBeyondAscii(survey, options)
    const open = () => refitMessage(counted(file, reading.allowance), survey, options)
    return messageEntity(file, is8Bit, { byteLength: null, open })
  } catch (error) {
    if (error instanceof UnwalkableMessage) return null
    throw error
  }
}
