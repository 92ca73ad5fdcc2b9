/** A signature of an image: bytes at an offset. */
interface Signature {
  type: string
  parts: ReadonlyArray<{ at: number; bytes: string }>
}

/** Image types that a browser displays and never runs. SVG is left out: it can hold scripts. */
const SIGNATURES: readonly Signature[] = [
  { type: 'image/jpeg', parts: [{ at: 0, bytes: '\xff\xd8\xff' }] },
  { type: 'image/png', parts: [{ at: 0, bytes: '\x89PNG\r\n\x1a\n' }] },
  { type: 'image/gif', parts: [{ at: 0, bytes: 'GIF87a' }] },
  { type: 'image/gif', parts: [{ at: 0, bytes: 'GIF89a' }] },
  {
    type: 'image/webp',
    parts: [
      { at: 0, bytes: 'RIFF' },
      { at: 8, bytes: 'WEBP' },
    ],
  },
  { type: 'image/avif', parts: [{ at: 4, bytes: 'ftypavif' }] },
  { type: 'image/heic', parts: [{ at: 4, bytes: 'ftypheic' }] },
  { type: 'image/heic', parts: [{ at: 4, bytes: 'ftypmif1' }] },
  { type: 'image/tiff', parts: [{ at: 0, bytes: 'II*\0' }] },
  { type: 'image/tiff', parts: [{ at: 0, bytes: 'MM\0*' }] },
  { type: 'image/bmp', parts: [{ at: 0, bytes: 'BM' }] },
]

/** The type of an image by its bytes, whatever it is said to be; null if it is none that is passed on. */
export function imageTypeOf(content: Buffer): string | null {
  const isAt = ({ at, bytes }: { at: number; bytes: string }) =>
    content.toString('latin1', at, at + bytes.length) === bytes
  return SIGNATURES.find(({ parts }) => parts.every(isAt))?.type ?? null
}
