/** A program: an object store with the bucket that it is given. Prints its port. */
import { startFauxqs } from 'fauxqs'

const server = await startFauxqs({ port: 0, logger: false })
server.createBucket(process.argv[2] ?? 'bench')
console.log(server.port)
