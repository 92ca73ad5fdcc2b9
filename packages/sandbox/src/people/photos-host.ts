import { Hono } from 'hono'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import type { ContactPhoto } from './book.ts'
import { DEFAULT_PHOTO } from './person.ts'

/** A grey pixel in PNG, which stands for contacts without a photo. */
const NOBODY = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
)

/** Plays lh3.googleusercontent.com: photos by their URLs, without a token. Each size is the photo as it was stored. */
export function photosHost(findPhoto: (token: string) => ContactPhoto | null): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  app.get('/contacts/:name', context => {
    const [token = ''] = context.req.param('name').split('=')
    const photo = token === DEFAULT_PHOTO ? { contentType: 'image/png', bytes: NOBODY } : findPhoto(token)
    if (!photo) return context.text('Not Found', 404)
    return context.body(new Uint8Array(photo.bytes), 200, {
      'content-type': photo.contentType,
      'cache-control': 'public, max-age=86400, no-transform',
    })
  })
  return app
}
