import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { attachment, type AttachedFile, type AttachmentOptions } from './attachments.ts'

/**
 * Reads a file by its path for the field `attachments` of a send or draft.
 * @throws RangeError if it has more than 25 MiB, before it is read
 */
export async function attachmentFromFile(
  path: string,
  options: Partial<AttachmentOptions> = {},
): Promise<AttachedFile> {
  return attachment(await openAsBlob(path), { filename: basename(path), ...options })
}
