import { spawn } from 'node:child_process'
import { createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { openBlobStore } from '../packages/server/src/kit/blobs/blob-store.ts'
import { openS3Objects } from '../packages/server/src/kit/blobs/s3/s3-objects.ts'
import { unrecorded } from '../packages/server/src/kit/blobs/s3/s3-uploads.ts'
import { Secret } from '../packages/server/src/kit/secret.ts'
import { short } from './figures.ts'
import { compareLoad } from './load.ts'
import type { Benchmark } from './row.ts'

const BUCKET = 'bench'
const CREDENTIALS = { accessKeyId: 'bench', secretAccessKey: 'bench' }
const OBJECTS = 50
const MB = 1024 * 1024
/** A usual message, one with pictures, and one near the largest that is stored. */
const SIZES = [20 * 1024, MB, 30 * MB]
const CALLERS = 16
const LARGE_CALLERS = 4

export const s3Reads: Benchmark = {
  name: 's3-reads',
  about:
    'Reading stored messages from a bucket, opened and expanded, by the SDK alone that reads the same objects.',
  async run(report) {
    await using store = await startStore()
    const objects = await openS3Objects(
      {
        bucket: BUCKET,
        endpoint: store.endpoint,
        region: 'us-east-1',
        credentials: { ...CREDENTIALS, secretAccessKey: new Secret(CREDENTIALS.secretAccessKey) },
        prefix: '',
        isPathStyle: true,
        authorities: null,
      },
      unrecorded,
    )
    const blobs = openBlobStore(objects)
    const client = new S3Client({
      endpoint: store.endpoint,
      region: 'us-east-1',
      credentials: CREDENTIALS,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
    const sealing = { key: createSecretKey(randomBytes(32)), context: ['bench'] }
    for (const size of SIZES) {
      const count = size > MB ? 2 : OBJECTS
      const keys = Array.from({ length: count }, (_, number) => `${size}/${String(number).padStart(2, '0')}`)
      for (const key of keys) {
        const writer = await blobs.create(key, sealing)
        await writer.write(textOf(size))
        await writer.commit()
      }
      let turn = 0
      const nextKey = () => keys[turn++ % keys.length] ?? ''
      const ours = async () => {
        for await (const _ of blobs.read(nextKey(), sealing));
      }
      const alone = async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: nextKey() }))
        for await (const _ of Body as AsyncIterable<Buffer>);
      }
      const callers = size > MB ? LARGE_CALLERS : CALLERS
      const figures = await compareLoad(callers, { ours, alone })
      report({
        measure: `messages of ${short(size / 1024)} KB, ${callers} callers, reads per second`,
        result: short(figures.ours.perSecond),
        yardstick: `the SDK ${short(figures.alone.perSecond)}`,
        ratio: figures.ours.perSecond / figures.alone.perSecond,
        target: '≥ 0.7',
      })
    }
  },
}

/** As compressible as base64, which is most of a large message. */
function textOf(bytes: number): Buffer {
  return Buffer.from(randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64'))
}

/** An object store in a process of its own. */
async function startStore() {
  const program = fileURLToPath(new URL('./s3-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, BUCKET], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    endpoint: `http://127.0.0.1:${Number(port.toString())}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close')
      child.kill()
      await ended
    },
  }
}
