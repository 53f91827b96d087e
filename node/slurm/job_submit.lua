-- Slurm asks here before it takes a job. A machine with GPUs is for jobs that ask for some.

local ASKING = { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task" }

local function asks_for_gpus(job)
   for _, field in ipairs(ASKING) do
      if job[field] ~= nil and string.find(job[field], "gpu", 1, true) then
         return true
      end
   end
   return false
end

function slurm_job_submit(job, partitions, _)
   local name = job.partition
   if name == nil then
      for each, partition in pairs(partitions) do
         if partition.flag_default == 1 then
            name = each
         end
      end
   end
   if GPU_PARTITIONS[name] and not asks_for_gpus(job) then
      slurm.log_user("partition %s is for jobs with GPUs: add --gpus-per-node, or --gpus", name)
      return slurm.ERROR
   end
   return slurm.SUCCESS
end

function slurm_job_modify()
   return slurm.SUCCESS
end
