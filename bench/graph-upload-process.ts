/** The yardstick in a separate process: the calls that send a message with a large file, and nothing else. */
import { request } from 'undici'
import { answerTask, runTask } from './child-task.ts'

interface Task {
  /** Origins of the interface, and of the host of upload sessions. */
  hosts: { graph: string; uploads: string }
  token: string
  email: string
  bytes: number
}

/** A multiple of 320 KiB below 4 MB, as the service takes it (learn.microsoft.com/graph/outlook-large-attachments). */
const RANGE_BYTES = 12 * 320 * 1024

export const uploadMessage = (task: Task) => runTask<{ seconds: number }>(import.meta.url, task)

async function upload({ hosts, token, email, bytes }: Task): Promise<{ seconds: number }> {
  const post = async (path: string, type: string, content: string) => {
    const answer = await request(`${hosts.graph}/v1.0/users/${email}/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        prefer: 'IdType="ImmutableId"',
        'content-type': type,
      },
      body: content,
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
    return (text === '' ? {} : JSON.parse(text)) as { id: string; uploadUrl: string }
  }
  const content = Buffer.alloc(bytes, 'a')
  const mime = `To: ${email}\r\nSubject: A message of a benchmark\r\n\r\nWith a file.\r\n`
  const begun = performance.now()
  const { id } = await post('messages', 'text/plain', Buffer.from(mime).toString('base64'))
  const file = { attachmentType: 'file', name: 'file.bin', size: bytes }
  const session = await post(
    `messages/${id}/attachments/createUploadSession`,
    'application/json',
    JSON.stringify({ AttachmentItem: file }),
  )
  const { pathname, search } = new URL(session.uploadUrl)
  for (let from = 0; from < bytes; from += RANGE_BYTES) {
    const range = content.subarray(from, from + RANGE_BYTES)
    const answer = await request(`${hosts.uploads}${pathname}${search}`, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        'content-range': `bytes ${from}-${from + range.byteLength - 1}/${bytes}`,
      },
      body: range,
    })
    await answer.body.dump()
    if (answer.statusCode >= 300) throw new Error(`a range: ${answer.statusCode}`)
  }
  await post(`messages/${id}/send`, 'application/json', '')
  return { seconds: (performance.now() - begun) / 1_000 }
}

if (import.meta.main) await answerTask(upload)
