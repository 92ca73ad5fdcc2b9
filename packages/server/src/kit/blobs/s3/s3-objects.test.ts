import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../../../../test/servers/certificate.ts'
import { type S3Fault, type S3Server, startS3 } from '../../../../test/servers/s3.ts'
import { Secret } from '../../secret.ts'
import { ObjectMissing, type ObjectStore, StorageUnavailable, type Trouble } from '../object-store.ts'
import type { S3Settings } from './s3-calls.ts'
import { openS3Objects } from './s3-objects.ts'
import { PART_BYTES, unrecorded, type Upload, type UploadRecord } from './s3-uploads.ts'

let s3: S3Server
beforeAll(async () => void (s3 = await startS3()))
afterAll(() => s3[Symbol.asyncDispose]())

const open = (settings: Partial<S3Settings> = {}, uploads: UploadRecord = unrecorded) =>
  openS3Objects({ ...s3.settings, prefix: randomUUID(), ...settings }, uploads)
const answering = (status: number, code: string, rest: Partial<S3Fault> = {}): S3Fault => ({
  answer: { status, code },
  ...rest,
})

async function withFaults<T>(faults: S3Fault[], work: () => Promise<T>): Promise<T> {
  s3.faults = faults
  try {
    return await work()
  } finally {
    s3.faults = []
  }
}

async function read(objects: ObjectStore, key: string): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync((await objects.open(key)).content))
}

/** The error that an attempt is refused with. */
async function troubleOf(work: Promise<unknown>): Promise<StorageUnavailable> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(StorageUnavailable)
  return error as StorageUnavailable
}

describe('a bucket', () => {
  test('that fails twice is asked a third time', async () => {
    const objects = await open()
    const content = randomBytes(100_000)
    await withFaults(
      [answering(500, 'InternalError', { times: 1 }), answering(503, 'SlowDown', { times: 1 })],
      () => objects.put('aa/bb', content),
    )
    await withFaults([answering(500, 'InternalError', { times: 2 })], async () =>
      expect((await read(objects, 'aa/bb')).equals(content)).toBe(true),
    )
  })

  test.each<[string, S3Fault, Trouble, string]>([
    ['fails all the time', answering(500, 'InternalError'), 'failing', '500, InternalError'],
    ['refuses the key', answering(403, 'InvalidAccessKeyId'), 'refused', 'WAXWING_S3_ACCESS_KEY_ID'],
    [
      'refuses the secret',
      answering(403, 'SignatureDoesNotMatch'),
      'refused',
      'WAXWING_S3_SECRET_ACCESS_KEY',
    ],
    ['allows nothing', answering(403, 'AccessDenied'), 'refused', 'list the bucket'],
    ['does not exist', answering(404, 'NoSuchBucket'), 'refused', 'WAXWING_S3_BUCKET'],
    ['is in another region', answering(301, 'PermanentRedirect'), 'refused', 'WAXWING_S3_REGION'],
    ['answers for another service', answering(404, 'NotFound'), 'failing', '404'],
    ['is archived', answering(403, 'InvalidObjectState'), 'refused', 'InvalidObjectState'],
  ])('that %s says so, and no object counts as missing', async (_, fault, trouble, words) => {
    const objects = await open()
    await withFaults([fault], async () => {
      const put = () => objects.put('aa/bb', Buffer.from('a'))
      for (const work of [() => objects.open('aa/bb'), put, () => objects.remove('aa/bb')]) {
        const error = await troubleOf(work())
        expect(error.trouble).toBe(trouble)
        expect(error.message).toContain(words)
      }
    })
  })

  test('that does not exist is told from an object that does not', async () => {
    const error = await troubleOf((await open({ bucket: 'no-such-bucket' })).open('aa/bb'))
    expect(error.message).toContain('no-such-bucket')
    await expect((await open()).open('aa/bb')).rejects.toThrow(ObjectMissing)
  })

  test('that nobody listens for is unreachable', async () => {
    const objects = await open({ endpoint: 'http://127.0.0.1:9' })
    const error = await troubleOf(objects.open('aa/bb'))
    expect(error.trouble).toBe('unreachable')
    expect(error.message).toContain('WAXWING_S3_ENDPOINT')
  })

  test('continues an object whose connection breaks, and gives up if nothing more comes', async () => {
    const objects = await open()
    const content = randomBytes(3_000_000)
    await objects.put('aa/bb', content)
    const cut = (times: number): S3Fault[] => [
      { method: 'GET', url: 'aa/bb', cutAfterBytes: 1_000_000, times },
    ]
    await withFaults(cut(2), async () => expect((await read(objects, 'aa/bb')).equals(content)).toBe(true))
    const vain: S3Fault[] = [{ method: 'GET', url: 'aa/bb', cutAfterBytes: 0 }]
    await withFaults(vain, async () =>
      expect((await troubleOf(read(objects, 'aa/bb'))).message).toContain('broke off at 0 of 3000000 bytes'),
    )
  })

  test('never gives bytes of another object that took its place', async () => {
    const objects = await open()
    await objects.put('aa/bb', Buffer.alloc(3_000_000, 'a'))
    const { content } = await objects.open('aa/bb')
    await content.next()
    await objects.put('aa/bb', Buffer.alloc(3_000_000, 'b'))
    const rest = Buffer.concat(await Array.fromAsync(content))
    expect(rest.includes('b')).toBe(false)
  })

  test('sends what its store can check, and nothing that old stores refuse', async () => {
    const objects = await open()
    s3.headers.length = 0
    await objects.put('aa/bb', Buffer.from('content'))
    const [headers = {}] = s3.headers
    expect(headers['x-amz-content-sha256']).toMatch(/^[0-9a-f]{64}$/)
    expect(
      Object.keys(headers).filter(name => name.startsWith('x-amz-checksum') || name === 'x-amz-trailer'),
    ).toEqual([])
    expect(headers['content-encoding']).toBeUndefined()
  })

  test('has a certificate of an authority that WAXWING_CA_FILE names', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-s3-'))
    try {
      const authorities = await makeCertificates(folder)
      const tls = {
        key: await readFile(path.join(folder, 'server.key'), 'utf8'),
        cert: await readFile(path.join(folder, 'server.crt'), 'utf8'),
      }
      await using secure = await startS3({ tls })
      const { endpoint } = secure
      const trusting = await open({ endpoint, authorities })
      await trusting.put('aa/bb', Buffer.from('sealed'))
      expect((await read(trusting, 'aa/bb')).toString()).toBe('sealed')
      const error = await troubleOf((await open({ endpoint })).put('aa/bb', Buffer.from('sealed')))
      expect(error.trouble).toBe('refused')
      expect(error.message).toContain('WAXWING_CA_FILE')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('shows no credential in an error', async () => {
    const credentials = { accessKeyId: 'an-id', secretAccessKey: new Secret('very-secret') }
    await withFaults([answering(403, 'AccessDenied')], async () => {
      const error = await troubleOf((await open({ credentials })).open('aa/bb'))
      expect(JSON.stringify([error.message, error.stack, String(error.cause)])).not.toContain('very-secret')
    })
  })
})

describe('an upload in parts', () => {
  const part = Buffer.alloc(PART_BYTES, 'part')

  function recorded() {
    const rows = new Map<string, Upload>()
    const record: UploadRecord = {
      begun: async upload => void rows.set(upload.uploadId, upload),
      ended: async ({ uploadId }) => void rows.delete(uploadId),
      listStale: async () => [...rows.values()],
    }
    return { rows, record }
  }

  test('is recorded before its first part, and forgotten at its end', async () => {
    const { rows, record } = recorded()
    const seen: number[] = []
    const objects = await open(
      {},
      {
        ...record,
        begun: async upload => {
          seen.push(s3.requests.filter(line => line.includes('partNumber=')).length)
          await record.begun(upload)
        },
      },
    )
    s3.requests.length = 0
    for (const finish of ['commit', 'abort'] as const) {
      const writer = await objects.create(`aa/${finish}`)
      for (let count = 0; count < 3; count += 1) await writer.write(part)
      expect(rows.size).toBe(1)
      await writer[finish]()
      expect(rows.size).toBe(0)
      s3.requests.length = 0
    }
    expect(seen).toEqual([0, 0])
    expect(s3.openUploads.size).toBe(0)
    expect((await objects.open('aa/commit')).bytes).toBe(3 * PART_BYTES)
    await expect(objects.open('aa/abort')).rejects.toThrow(ObjectMissing)
  })

  test('has parts of one size but for the last', async () => {
    const objects = await open()
    const content = randomBytes(2 * PART_BYTES + 1000)
    const writer = await objects.create('aa/bb')
    s3.headers.length = 0
    s3.requests.length = 0
    for (let at = 0; at < content.length; at += 70_000) await writer.write(content.subarray(at, at + 70_000))
    await writer.commit()
    const sizes = s3.requests.flatMap((line, index) =>
      line.includes('partNumber=') ? [Number(s3.headers[index]?.['content-length'])] : [],
    )
    expect(sizes).toEqual([PART_BYTES, PART_BYTES, 1000])
    expect((await read(objects, 'aa/bb')).equals(content)).toBe(true)
  })

  test.each(['partNumber=2', '?uploads', 'uploadId='])(
    'that fails at %s fails as a whole, and is aborted later if it cannot be now',
    async url => {
      const { rows, record } = recorded()
      const objects = await open({}, record)
      const writer = await objects.create('aa/bb')
      await withFaults([answering(500, 'InternalError', { url })], async () => {
        await troubleOf(
          (async () => {
            for (let count = 0; count < 3; count += 1) await writer.write(part)
            await writer.commit()
          })(),
        )
        await writer.abort().catch(() => {})
      })
      await objects.sweepUploads(new AbortController().signal)
      expect([rows.size, s3.openUploads.size]).toEqual([0, 0])
      await expect(objects.open('aa/bb')).rejects.toThrow(ObjectMissing)
    },
  )

  test('needs no more memory than two parts', async () => {
    const objects = await open()
    const writer = await objects.create('aa/bb')
    const held: number[] = []
    // A store that is slow lets the writer wait.
    await withFaults([{ method: 'PUT', delayMilliseconds: 100 }], async () => {
      for (let count = 0; count < 12; count += 1) {
        await writer.write(Buffer.alloc(PART_BYTES))
        held.push(s3.waiting)
      }
    })
    await writer.commit()
    expect(Math.max(...held)).toBeLessThanOrEqual(1)
    expect((await objects.open('aa/bb')).bytes).toBe(12 * PART_BYTES)
  })
})
