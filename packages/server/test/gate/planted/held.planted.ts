import { test } from 'vitest'
import { makePreparedFolder } from '../../prepared-folder.ts'
import { startServiceProcess } from '../../service-process.ts'

test('holds a service with its database until it is killed', async () => {
  await using folder = await makePreparedFolder()
  await using service = await startServiceProcess(folder)
  process.stdout.write(`held: ${JSON.stringify({ folder: folder.path, pid: service.pid })}\n`)
  await new Promise(resolve => setTimeout(resolve, 600_000))
})
