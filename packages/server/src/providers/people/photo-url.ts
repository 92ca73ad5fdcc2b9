import { HOSTS } from '../google/hosts.ts'

/** The size that is asked for, in pixels. Google keeps photos of contacts in no larger one. */
const PIXELS = 720
/** The size at the end of a URL, such as `=s100` or `=s100-c`. */
const SIZE = /=[swh]\d{1,5}(?:-[a-z0-9-]{1,40})?$/
const PATH_MAX = 1_000

/**
 * The path of a photo without its size. It is another one for each photo, and so is its version. Null for a URL of another
 * host: no name from an answer is ever called.
 */
export function photoPathOf(text: string): string | null {
  const url = URL.parse(text)
  if (!url || url.protocol !== 'https:' || url.host !== HOSTS.photos || url.search !== '') return null
  return url.pathname.length > PATH_MAX ? null : url.pathname.replace(SIZE, '')
}

/** The path by which a photo is asked for. */
export function sizedPhotoPath(path: string): string {
  return `${path}=s${PIXELS}`
}
